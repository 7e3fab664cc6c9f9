//! A session that has waited for a position of replication at a reader.

use super::split::{Scene, scene};
use super::support::{pair_of_servers, play, run, settle};

/// Its next reads are at the same reader, up to its next write.
#[test]
fn who_has_waited_at_a_reader_reads_there() {
    play(async || {
        let mut config = pair_of_servers();
        config.variables.multiplexing = true;
        let Scene { stage, mut client, mut writer, mut reader, .. } = scene(config).await;
        for sql in ["SELECT MASTER_GTID_WAIT('0-1-1', 1)", "SELECT a FROM t"] {
            run(&mut client, &mut reader, sql).await;
            settle().await;
            assert_eq!(stage.usage(1).resting, 0, "{sql}");
        }
        run(&mut client, &mut writer, "SELECT a FROM t FOR UPDATE").await;
        settle().await;
        assert_eq!((stage.usage(0).resting, stage.usage(1).resting), (1, 0), "it has written nothing");
        run(&mut client, &mut writer, "UPDATE t SET a = 1").await;
        settle().await;
        assert_eq!((stage.usage(0).resting, stage.usage(1).resting), (1, 1));
    });
}
