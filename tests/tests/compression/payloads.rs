//! Payloads of every size that matters, with and without compression on either side.

use e2e::payloads::{SIZES, every_size};
use e2e::{Backend, on_each_server, run};

use super::{METHODS, connect, proxy};

on_each_server! {
    c17_payloads_of_every_size_arrive_intact,
}

fn c17_payloads_of_every_size_arrive_intact(db: &Backend) {
    for compression in [false, true] {
        let proxy = proxy(db, compression);
        for method in METHODS {
            run(async {
                let mut client = connect(&proxy, method).await;
                every_size(&mut client, &SIZES).await;
                client.quit().await.unwrap();
            });
        }
    }
}
