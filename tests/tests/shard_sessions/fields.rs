//! `COM_FIELD_LIST` of sharded tables.

use e2e::run;
use testkit::client::Client;
use wire::Codec as _;
use wire::command::Kind;
use wire::packet::{Column, DefaultValue, Err};

use crate::world::{Servers, change, rows};

/// The columns of a table: schema, table and name of each, and its default. An error's text.
async fn fields(client: &mut Client, table: &str, wildcard: &str) -> Result<Vec<[String; 4]>, String> {
    client.send_command(Kind::FieldList, format!("{table}\0{wildcard}").as_bytes()).await.unwrap();
    let caps = client.capabilities();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut all = Vec::new();
    loop {
        let payload = client.packets().read().await.unwrap();
        match payload.first() {
            Some(&Err::HEADER) => return Err(text(Err::decode(&payload, caps).unwrap().message)),
            Some(0xfe) => return Ok(all),
            _ => {
                let column = Column::decode(&payload, caps).unwrap();
                let default = match column.default_value {
                    DefaultValue::Text(value) => text(value),
                    DefaultValue::Null => "NULL".to_owned(),
                    DefaultValue::Absent => "absent".to_owned(),
                };
                all.push([text(column.schema), text(column.org_table), text(column.name), default]);
            }
        }
    }
}

pub(crate) fn fields_have_logical_names(servers: &'static Servers) {
    let world = servers.world("fields");
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        for begin in ["DO 0", "BEGIN"] {
            change(&mut client, begin).await;
            let Ok(plain) = fields(&mut client, "plain", "").await else {
                // A server that does not know the command says so.
                fields(&mut client, "events", "").await.unwrap_err();
                return;
            };
            assert_eq!(plain.len(), 2, "{plain:?}");
            let events = fields(&mut client, "events", "").await.unwrap();
            let own = |name: &str, value: &str| ["fields", "events", name, value].map(str::to_owned);
            assert_eq!(events[0][..3], own("id", "")[..3], "{begin}");
            assert_eq!(events[1], own("note", "new"), "{begin}");
            assert_eq!(fields(&mut client, "events", "n%").await.unwrap(), [own("note", "new")]);
            let orders = fields(&mut client, "orders", "").await.unwrap();
            assert_eq!(
                orders.iter().map(|field| field[2].as_str()).collect::<Vec<_>>(),
                ["id", "note", "made"]
            );
            assert!(fields(&mut client, "nowhere", "").await.unwrap_err().contains("nowhere"));
            assert_eq!(rows(&mut client, "SELECT note FROM events WHERE id = 1").await, ["event 1"]);
        }
    });
}
