//! What the list of sessions has of each as JSON.

use super::support::{begin, config as usual, play, session_in};

#[test]
fn the_list_of_sessions_has_a_document_where_it_is_to() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session_in(usual()).await;
        begin(&mut client, &mut server).await;
        let extended = || stage.processes().remove(0).extended;
        assert_eq!(extended(), None);
        let loaded = |level| {
            let mut config = usual();
            config.variables.show_processlist_extended = level;
            stage.apply(config).unwrap();
            extended().unwrap()
        };
        let compact = loaded(1);
        for part in [
            r#"{"thread":0,"thread_session_id":"#,
            r#""status":"Sleep","current_hostgroup":0,"active_transactions":1,"#,
            r#""default_hostgroup":0,"transaction_persistent":true,"fast_forward":false"#,
            r#""userinfo":{"username":"app","schemaname":""}"#,
            r#""backends":[{"hostgroup_id":0,"conn":{"mysql":{"host":"db","port":3306}}}]"#,
        ] {
            assert!(compact.contains(part), "{part} is not in {compact}");
        }
        let indented = loaded(2);
        assert!(indented.starts_with("{\n    \"thread\": 0,\n"), "{indented}");
        let squeezed = |text: &str| text.replace(char::is_whitespace, "");
        assert_eq!(squeezed(&indented).len(), compact.len());
    });
}
