//! Functions of MySQL 9 and MariaDB 10.11, and words that may be in front of a parenthesis without
//! being functions.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::effects::Effects;

/// What calling the function `name`, in lower case, does; `None` if it is not known here, so that
/// it may be a stored function.
pub fn effects(name: &str, with_arguments: bool) -> Option<Effects> {
    let effects = match name {
        "get_lock" | "release_lock" | "release_all_locks" | "is_free_lock" | "is_used_lock" => {
            Effects::NAMED_LOCKS
        }
        // MariaDB: `DEFAULT(column)` takes a value if that is the column's default.
        "nextval" | "lastval" | "setval" | "default" => Effects::SEQUENCE,
        "last_insert_id" if with_arguments => Effects::SETS_LAST_INSERT_ID,
        "last_insert_id" => Effects::READS_LAST_INSERT_ID,
        "found_rows" | "row_count" => Effects::READS_LAST,
        "load_file" => Effects::FILE,
        "sleep" | "benchmark" => Effects::WAITS,
        "master_pos_wait"
        | "source_pos_wait"
        | "master_gtid_wait"
        | "wait_for_executed_gtid_set"
        | "wait_until_sql_thread_after_gtids" => Effects::WAITS_FOR_POSITION,
        "connection_id"
        | "user"
        | "current_user"
        | "session_user"
        | "system_user"
        | "database"
        | "schema"
        | "current_role"
        | "roles_graphml"
        | "ps_current_thread_id"
        | "ps_thread_id"
        | "version" => Effects::READS_SESSION,
        "rand" | "uuid" | "uuid_short" | "uuid_v4" | "uuid_v7" | "sys_guid" | "random_bytes" | "now"
        | "sysdate" | "curdate" | "curtime" | "current_date" | "current_time" | "current_timestamp"
        | "localtime" | "localtimestamp" | "utc_date" | "utc_time" | "utc_timestamp" | "unix_timestamp"
        | "encrypt" => Effects::VOLATILE,
        _ if NO_EFFECTS.contains(name) => Effects::empty(),
        _ => return None,
    };
    Some(effects)
}

/// What a word does that needs no parenthesis.
pub(super) fn word_effects(word: &str) -> Effects {
    match word {
        "current_date" | "current_time" | "current_timestamp" | "localtime" | "localtimestamp"
        | "utc_date" | "utc_time" | "utc_timestamp" => Effects::VOLATILE,
        "current_user" | "current_role" => Effects::READS_SESSION,
        "sql_calc_found_rows" => Effects::COUNTS_ROWS,
        _ => Effects::empty(),
    }
}

/// What reading a system variable does, which is given with its `@@` and maybe a scope.
pub(super) fn variable_effects(variable: &str) -> Effects {
    let name = variable.rsplit(['@', '.']).next().unwrap_or_default().trim_matches('`');
    let last = match name.to_ascii_lowercase().as_str() {
        "warning_count" | "error_count" => Effects::READS_LAST,
        "last_insert_id" | "identity" => Effects::READS_LAST_INSERT_ID,
        _ => Effects::empty(),
    };
    last | Effects::READS_SYSTEM_VARIABLES
}

/// Words by themselves: a text may have thousands of calls.
type Words = LazyLock<HashSet<&'static str>>;

static NO_EFFECTS: Words = LazyLock::new(|| KEYWORDS.split(' ').chain(PURE.split(' ')).collect());

/// Words that a parenthesis may follow: keywords and types.
const KEYWORDS: &str = "\
    all and any as asc between binary bit by case char character collate cross date datetime decimal \
    default desc distinct distinctrow div double else end except exists float following for force from \
    group having if ignore in index inner int integer intersect interval into is join key keys left like \
    limit lines mod natural nchar not null numeric nvarchar offset on or order over partition preceding \
    range real recursive regexp returning right rlike row rows select separator set signed some soname \
    sounds straight_join table then time timestamp to union unsigned update use using value values \
    varbinary varchar when where window with xor year";

/// Words that are clauses behind an operand, and may be names of functions elsewhere.
const CLAUSES: [&str; 6] = ["against", "columns", "escape", "minus", "of", "rollup"];

/// Whether `word` in front of a parenthesis is a clause behind an operand.
pub(super) fn is_clause(word: &str) -> bool {
    CLAUSES.contains(&word)
}

/// Functions that a server reads as such only if the parenthesis follows at once. With a blank or
/// a comment in between, and without the mode `IGNORE_SPACE`, MySQL or MariaDB calls a stored
/// function of that name.
static GLUED: Words = LazyLock::new(|| GLUED_NAMES.split(' ').collect());

const GLUED_NAMES: &str = "\
    adddate bit_and bit_or bit_xor cast count cume_dist curdate curtime date_add date_sub dense_rank \
    extract first_value group_concat json_arrayagg json_duality_object json_objectagg lag lead max median \
    mid min now nth_value ntile percent_rank percentile_cont percentile_disc position rank session_user \
    st_collect std stddev stddev_pop stddev_samp subdate substr substring sum sysdate system_user trim \
    trim_oracle var_pop var_samp variance";

/// Whether the function `name`, in lower case, needs its parenthesis at once.
pub(super) fn is_glued(name: &str) -> bool {
    GLUED.contains(name)
}

/// Functions whose result depends on their arguments alone, and aggregates.
const PURE: &str = "\
    abs acos add_months adddate addtime aes_decrypt aes_encrypt any_value area asbinary ascii asin \
    astext aswkb aswkt atan atan2 avg bin bin_to_uuid bit_and bit_count bit_length bit_or bit_xor \
    cast ceil ceiling char_length character_length charset chr coalesce coercibility collation \
    column_check column_create column_get column_json column_list compress concat concat_operator_oracle \
    concat_ws connectionproperty contains conv convert convert_tz cos cot count crc32 crc32c cume_dist \
    date_add date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear decode \
    decode_histogram decode_oracle degrees dense_rank des_decrypt des_encrypt distance elt encode exp \
    export_set extract extractvalue field find_in_set first_value floor format format_bytes \
    format_pico_time from_base64 from_days from_unixtime from_vector geomcollection geometrycollection \
    geomfromtext geomfromwkb get_format glength greatest group_concat grouping gtid_subset gtid_subtract \
    hex hour ifnull inet6_aton inet6_ntoa inet_aton inet_ntoa insert instr is_ipv4 is_ipv4_compat \
    is_ipv4_mapped is_ipv6 is_uuid isnull json_array json_array_append json_array_insert \
    json_array_intersect json_arrayagg json_compact json_contains json_contains_path json_depth \
    json_detailed json_duality_object json_equals json_exists json_extract json_insert json_keys \
    json_length json_loose json_merge json_merge_patch json_merge_preserve json_normalize json_object \
    json_object_filter_keys json_object_to_array json_objectagg json_overlaps json_pretty json_query \
    json_quote json_remove json_replace json_schema_valid json_schema_validation_report json_search \
    json_set json_storage_free json_storage_size json_table json_type json_unquote json_valid json_value \
    kdf lag last_day last_value lcase lead least length lengthb linestring ln locate log log10 log2 \
    lower lpad ltrim make_set makedate maketime match max mbrcontains mbrcoveredby mbrcovers mbrdisjoint \
    mbrequals mbrintersects mbroverlaps mbrtouches mbrwithin md5 median member microsecond mid min \
    minute month monthname multilinestring multipoint multipolygon name_const natural_sort_key nth_value \
    ntile nullif nvl nvl2 oct octet_length old_password ord password percent_rank percentile_cont \
    percentile_disc period_add period_diff pi point polygon position pow power quarter quote radians \
    rank regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse round row_number \
    rownum rpad rtrim sec_to_time second sformat sha sha1 sha2 sign sin soundex space sqrt st_area \
    st_asbinary st_asgeojson st_astext st_aswkb st_aswkt st_boundary st_buffer st_buffer_strategy \
    st_centroid st_collect st_contains st_convexhull st_crosses st_difference st_dimension st_disjoint \
    st_distance st_distance_sphere st_endpoint st_envelope st_equals st_exteriorring st_frechetdistance \
    st_geohash st_geomcollfromtext st_geometryn st_geometrytype st_geomfromgeojson st_geomfromtext \
    st_geomfromwkb st_hausdorffdistance st_interiorringn st_intersection st_intersects st_isclosed \
    st_isempty st_isring st_issimple st_isvalid st_latfromgeohash st_latitude st_length st_linefromtext \
    st_linefromwkb st_lineinterpolatepoint st_longfromgeohash st_longitude st_makeenvelope \
    st_mpointfromtext st_numgeometries st_numinteriorring st_numpoints st_overlaps st_pointatdistance \
    st_pointfromgeohash st_pointfromtext st_pointn st_pointonsurface st_polyfromtext st_relate \
    st_simplify st_srid st_startpoint st_swapxy st_symdifference st_touches st_transform st_union \
    st_validate st_within st_x st_y startpoint statement_digest statement_digest_text std stddev \
    stddev_pop stddev_samp str_to_date strcmp string_to_vector subdate substr substring substring_index \
    subtime sum tan time_format time_to_sec timediff timestampadd timestampdiff to_base64 to_char \
    to_days to_seconds to_vector trim trim_oracle truncate ucase uncompress uncompressed_length unhex \
    updatexml upper uuid_to_bin validate_password_strength var_pop var_samp variance vec_distance \
    vec_distance_cosine vec_distance_euclidean vec_fromtext vec_totext vector_dim vector_to_string week \
    weekday weekofyear weight_string within yearweek";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_may_be_stored() {
        assert_eq!(effects("concat", true), Some(Effects::empty()));
        assert_eq!(effects("my_function", true), None);
        assert_eq!(effects("last_insert_id", false), Some(Effects::READS_LAST_INSERT_ID));
        assert_eq!(effects("last_insert_id", true), Some(Effects::SETS_LAST_INSERT_ID));
    }
}
