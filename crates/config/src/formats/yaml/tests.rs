use std::path::{Path, PathBuf};

use super::{Program, folder, program};
use crate::bind;
use crate::{Loaded, Strictness, parse};

const KINGSHARD: &str = "\
addr: 0.0.0.0:9696
user_list:
- {user: app, password: secret}
nodes:
- {name: node1, user: app, password: secret, master: 'db1:3306', slave: 'db2:3306@2,db3:3307', max_conns_limit: 32}
- {name: node2, user: app, password: secret, master: 'db4:3306'}
schema_list:
- user: app
  nodes: [node1, node2]
  default: node2
  shard:
  - {db: shop, table: orders, key: id, nodes: [node1, node2], type: hash, locations: [1, 1]}
";

const GLOBAL: &str =
    "authority:\n  users: [{user: root, password: root}]\nprops: {proxy-default-port: 3399}\n";

const PLAIN: &str = "\
databaseName: sbtest
dataSources:
  ds: {url: 'jdbc:mysql://db:3306/sbtest?useSSL=false', username: root, password: root, maxPoolSize: 200}
rules: []
";

fn loaded(text: &str) -> Loaded {
    parse(text, Path::new("f")).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

fn problems(text: &str) -> String {
    parse(text, Path::new("f")).unwrap_err().to_string()
}

fn of_folder(files: &[(&str, &str)]) -> Result<Loaded, String> {
    let files: Vec<(PathBuf, String)> =
        files.iter().map(|(name, text)| (PathBuf::from(name), (*text).to_owned())).collect();
    let parsed = folder(&files, Path::new("conf")).unwrap();
    bind::bind(parsed, Path::new("conf"), Strictness::Lenient).map_err(|problems| problems.to_string())
}

#[test]
fn the_content_tells_the_program() {
    assert_eq!(program(KINGSHARD), Some(Program::Kingshard));
    assert_eq!(program(GLOBAL), Some(Program::ShardingSphere));
    assert_eq!(program(PLAIN), Some(Program::ShardingSphere));
    assert_eq!(program("nodes :\n"), Some(Program::Kingshard));
    for other in ["", "mysql_variables:\n{\n}\n", "[[mysql_servers]]\naddress = 'rules:'\n", "# rules:\n"] {
        assert_eq!(program(other), None, "{other}");
    }
}

#[test]
fn nodes_are_servers_with_their_readers() {
    let config = loaded(KINGSHARD).config;
    let servers: Vec<_> = config
        .servers
        .iter()
        .map(|server| {
            (
                server.hostgroup_id,
                server.hostname.as_str(),
                server.port,
                server.weight,
                server.max_connections,
            )
        })
        .collect();
    assert_eq!(
        servers,
        [
            (0, "db1", 3306, 1, 32),
            (1, "db2", 3306, 2, 32),
            (1, "db3", 3307, 1, 32),
            (2, "db4", 3306, 1, 1000)
        ]
    );
    assert_eq!(config.pairs().collect::<Vec<_>>(), [(0, 1)]);
    assert!(config.variables.read_write_split && !config.monitor.enabled);
    assert_eq!(config.listeners[0].address.to_string(), "0.0.0.0:9696");
    assert_eq!((config.users[0].username.as_str(), config.users[0].default_hostgroup), ("app", 2));
    assert_eq!(
        config.shards.unwrap().to_string(),
        "shop.orders: sharded by (id), keys unchecked\n  by hash into 2 of id\n  0: hostgroup 0, shop.orders_0000\n  \
         1: hostgroup 2, shop.orders_0001\nother tables of any schema: hostgroup 2\n"
    );
}

#[test]
fn what_kingshard_does_otherwise_is_refused() {
    let other = KINGSHARD.replace("name: node2, user: app", "name: node2, user: root");
    assert_eq!(
        problems(&other),
        "f:6: `nodes[1]`: the user at its servers, `root`, is none of the proxy with the same password: sessions log \
         in to servers with the name and the password of their client"
    );
    let two = KINGSHARD.replace("user_list:\n", "user_list:\n- {user: b, password: x}\n")
        + "- user: b\n  nodes: [node1, node2]\n  default: node1\n  shard:\n  - {db: shop, table: orders, key: id, \
           nodes: [node1], type: hash, locations: [2]}\n";
    assert!(
        problems(&two).contains(
            "f:14: `schema_list[1]`: b has another rule for shop.orders than app: here it holds for all"
        ),
        "{}",
        problems(&two)
    );
    assert!(
        problems(&KINGSHARD.replace("type: hash", "type: mod"))
            .starts_with("f:12: `schema_list[0].shard[0].type`: ")
    );
    assert!(problems("user_list:\n").contains("`nodes`: is missing"));
}

#[test]
fn kingshard_without_users_is_refused_where_they_would_stand() {
    let (head, tail) = KINGSHARD.split_once("user_list:\n").unwrap();
    let (_user, rest) = tail.split_once('\n').unwrap();
    let line = head.lines().count() + 1;
    let empty = problems(&format!("{head}user_list:\n{rest}"));
    assert!(empty.contains(&format!("f:{line}: `user_list`: has no user")), "{empty}");
    let missing = problems(&format!("{head}{rest}"));
    assert!(missing.contains("f:1: `user_list`: is missing"), "{missing}");
}

/// Such a user has the names of the parts in kingshard, and both here.
#[test]
fn a_user_without_rules_gets_those_of_others() {
    let text = KINGSHARD.replace("user_list:\n", "user_list :\n- {user: root, password: x}\n")
        + "- {user: root, nodes: [node1], default: node1, shard: [~]}\n";
    let Loaded { config, warnings, .. } = loaded(&text);
    let homes: Vec<_> =
        config.users.iter().map(|user| (user.username.as_str(), user.default_hostgroup)).collect();
    assert_eq!(homes, [("root", 0), ("app", 2)]);
    let layout = config.shards.unwrap();
    assert_eq!((layout.tables().len(), layout.homes().len()), (1, 0));
    assert!(warnings.iter().any(|warning| warning.contains("user `root` lacks rules")), "{warnings:?}");
}

#[test]
fn a_file_may_have_settings_of_this_proxy() {
    let own = |text: &str| format!("{KINGSHARD}pointsman: {text}\n");
    let config =
        loaded(&own("{admin_address: '127.0.0.1:7032', admin_credentials: 'a:b', datadir: /x}")).config;
    assert_eq!(config.admin.mysql_ifaces[0].to_string(), "127.0.0.1:7032");
    assert_eq!(config.admin.admin_credentials.password("a"), Some("b"));
    assert_eq!(config.datadir, "/x");
    assert_eq!(
        problems(&own("{admin_adress: 'x'}")),
        "f:13: `pointsman.admin_adress`: is not known; did you mean `admin_address`?"
    );
}

#[test]
fn a_folder_has_the_users_and_the_databases() {
    let Loaded { config, draft, warnings, .. } =
        of_folder(&[("global.yaml", GLOBAL), ("database-x.yaml", PLAIN)]).unwrap();
    assert_eq!(config.listeners[0].address.to_string(), "0.0.0.0:3399");
    let server = &config.servers[0];
    assert_eq!((server.hostgroup_id, server.hostname.as_str(), server.max_connections), (0, "db", 200));
    assert_eq!(config.users[0].password, "root");
    assert_eq!(config.shards.as_ref().unwrap().to_string(), "other tables of sbtest: hostgroup 0\n");
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(draft.check().unwrap().config, config);
    assert_eq!(loaded(&draft.to_cnf()).config, config);
}

#[test]
fn files_that_are_not_whole_say_what_is_missing() {
    for text in [PLAIN, GLOBAL] {
        assert!(problems(text).ends_with("give the folder that has all of them"), "{}", problems(text));
    }
}

#[test]
fn a_schema_without_rules_keeps_its_name() {
    let other = PLAIN.replace("databaseName: sbtest", "databaseName: logic");
    let problem = of_folder(&[("g", GLOBAL), ("d", &other)]).unwrap_err();
    assert_eq!(
        problem,
        "d:3: `dataSources.ds`: the schema sbtest cannot have another name, logic, for clients: give `databaseName` \
         its name"
    );
    let two = PLAIN
        .replace("rules", "  ds_1: {url: 'jdbc:mysql://db2/sbtest', username: root, password: root}\nrules");
    let problem = of_folder(&[("g", GLOBAL), ("d", &two)]).unwrap_err();
    assert!(problem.contains("looked for at the data source ds: others need rules"), "{problem}");
}

#[test]
fn databases_have_homes_of_their_own() {
    let other = PLAIN.replace("sbtest", "shop").replace("db:3306", "db2:3306");
    let config = of_folder(&[("g", GLOBAL), ("a", PLAIN), ("b", &other)]).unwrap().config;
    let routes: Vec<_> = config
        .fast_routes
        .iter()
        .map(|route| (route.schemaname.as_str(), route.destination_hostgroup))
        .collect();
    assert_eq!(routes, [("sbtest", 0), ("shop", 2)]);
}

#[test]
fn functions_of_shardingsphere_are_kept() {
    let rules = "\
rules:
- !SHARDING
  tables:
    t_order:
      actualDataNodes: ds_${0..1}.t_order_${0..1}
      databaseStrategy: {standard: {shardingColumn: user_id, shardingAlgorithmName: by_user}}
      tableStrategy: {standard: {shardingColumn: order_id, shardingAlgorithmName: by_order}}
      keyGenerateStrategy: {column: order_id, keyGeneratorName: snow}
  shardingAlgorithms:
    by_user: {type: INLINE, props: {algorithm-expression: 'ds_${user_id % 2}'}}
    by_order: {type: MOD, props: {sharding-count: 2}}
  keyGenerators:
    snow: {type: SNOWFLAKE, props: {worker-id: 7}}
";
    let sources = "\
databaseName: sbtest
dataSources:
  ds_0: {url: 'jdbc:mysql://a/sbtest', username: root, password: root}
  ds_1: {url: 'jdbc:mysql://b/sbtest', username: root, password: root}
";
    let Loaded { config, draft, warnings, .. } =
        of_folder(&[("g", GLOBAL), ("d", &format!("{sources}{rules}"))]).unwrap();
    assert_eq!(
        config.shards.as_ref().unwrap().to_string(),
        "sbtest.t_order: sharded by (user_id, order_id), keys unchecked\n  by inline `ds_${user_id % 2}` of user_id, \
         nodes [0 1] [2 3]\n  by mod into 2 of order_id, nodes [0 2] [1 3]\n  0: hostgroup 0, sbtest.t_order_0\n  \
         1: hostgroup 0, sbtest.t_order_1\n  2: hostgroup 2, sbtest.t_order_0\n  3: hostgroup 2, sbtest.t_order_1\n\
         ids of sbtest.t_order.order_id: snowflake of worker 7, vibration 1\nother tables of sbtest: hostgroup 0\n"
    );
    assert_eq!(warnings, ["conf: sbtest: tables that no rule names are looked for at the data source ds_0"]);
    assert_eq!(draft.check().unwrap().config, config);
}

/// Pieces of files of both programs and of our own layouts, with values that do not belong there.
const PIECES: [&str; 32] = [
    "user_list:\n",
    "- {user: app, password: secret}\n",
    "nodes:\n",
    "- {name: node1, user: app, password: secret, master: 'db1:3306', slave: 'db2:3306@2,db3'}\n",
    "schema_list:\n",
    "- {user: app, nodes: [node1], default: node1, shard: [~]}\n",
    "- {user: app, nodes: [node1], default: node1, shard: [{db: s, table: t, key: k, nodes: [node1], \
     type: hash, locations: [2]}]}\n",
    "databaseName: s\n",
    "dataSources:\n",
    "  ds_0: {url: 'jdbc:mysql://a/s', username: app, password: secret}\n",
    "  ds_1: {url: 'jdbc:mysql://b/s', username: app, password: secret}\n",
    "rules:\n",
    "rules: []\n",
    "- !SHARDING\n",
    "  tables: {t: {actualDataNodes: 'ds_${0..1}.t'}}\n",
    "- !BROADCAST {tables: [r]}\n",
    "authority: {users: [{user: app, password: secret}]}\n",
    "pointsman: {datadir: 7}\n",
    "[[shards.table]]\n",
    "[[shards.group]]\n",
    "[[shards.sequence]]\n",
    "schema = 's'\n",
    "table = 't'\n",
    "tables = ['t', 1]\n",
    "key = ['k', 'l']\n",
    "function = 'mod'\n",
    "function = 'levels'\n",
    "levels = [{ key = [], function = 'inline', expression = '${value}', names = ['1'], nodes = [[0, 9]] }]\n",
    "nodes = '${1..2}/s.t'\n",
    "nodes = [{ hostgroup = -1, schema = 's', table = '' }, 7]\n",
    "bounds = [[1], 2]\n",
    "kind = 'single'\n",
];

proptest::proptest! {
    #[test]
    fn no_pieces_panic(pieces in proptest::collection::vec(proptest::sample::select(&PIECES), 0..12)) {
        let text = pieces.concat();
        // Rows of a file that is right go together as rows of tables, too.
        if let Ok(loaded) = parse(&text, Path::new("x")) {
            let shards = loaded.draft.check().map(|checked| checked.config.shards);
            proptest::prop_assert_eq!(shards, Ok(loaded.config.shards), "{}", text);
        }
    }
}
