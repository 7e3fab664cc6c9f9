//! The page for operators: what is up, what loads the servers, where a statement goes and why.
//!
//! One sampler reads the statistics of the proxy once a second for all viewers. Without viewers it
//! reads the counters only, for the record of the last 24 hours, and nothing where the page is not
//! served. Viewers get them as JSON: whole, or as a stream of events.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod access;
mod action;
mod assets;
mod connection;
mod explain;
mod facts;
mod form;
mod hub;
mod limits;
mod list;
mod logins;
mod origin;
mod percentile;
mod places;
mod plain;
mod rates;
mod reading;
mod recorder;
mod reply;
mod router;
mod sample;
mod sampler;
mod site;
mod stream;
mod timed;
mod timeline;
mod viewer;
mod views;
mod work;

use std::sync::Arc;

use admin::Engine;
use observe::plane::DataPlane;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::connection::Page;
use crate::site::Site;

/// A page that is served. Dropped, it stops listening, and streams end.
#[derive(Debug)]
pub struct Web {
    task: JoinHandle<()>,
    ending: watch::Sender<bool>,
}

impl Web {
    /// Serves the page where the variables say, from now on; nowhere while `admin-web_enabled` is
    /// off. Tasks run on `runtime`.
    pub fn start(engine: &Engine, plane: &Arc<dyn DataPlane>, runtime: &Handle) -> Self {
        let (ending, is_ending) = watch::channel(false);
        let site = Site::new(engine.clone(), Arc::clone(plane), is_ending, runtime);
        let (page, settings) = (Page::new(Arc::clone(&site)), engine.settings());
        let task = runtime.spawn(async move {
            tokio::join!(admin::http::run(page, settings), record(&site));
        });
        Self { task, ending }
    }
}

/// Records samples while the page is served.
async fn record(site: &Site) {
    let mut settings = site.settings.clone();
    loop {
        let is_served = !settings.borrow_and_update().web_addresses().is_empty();
        site.hub.record(is_served);
        if settings.changed().await.is_err() {
            return;
        }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.task.abort();
        self.ending.send_replace(true);
    }
}
