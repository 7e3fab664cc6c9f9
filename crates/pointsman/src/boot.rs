//! From a configuration file to a serving proxy, and back down again.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Instant;

use admin::{Booted, Port};
use anyhow::Context as _;
use config::{Config, Loaded, LogFormat, Protocol, Strictness};
use observe::plane::{DataPlane, Order};
use proxy::Proxy;
use rustix::process::{DumpableBehavior, Resource, Rlimit};
use tokio::runtime::{Builder, Handle};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::unbounded_channel;
use web::Web;

use crate::cli::ServeArgs;
use crate::file;
use crate::log::Log;
use crate::notify::{Manager, Phase};
use crate::overrides::Overrides;
use crate::pidfile::PidFile;
use crate::program::Program;
use crate::say::say;

/// Threads of the runtime that accepts clients and does what must not stop a worker.
const CONTROL_THREADS: usize = 2;

/// Threads for the slow steps of logins (RSA, thousands of rounds of SHA-256). Anybody who can
/// connect can ask for these: more threads would take the processors from the workers. One is taken
/// while the proxy drains.
const CONTROL_BLOCKING_THREADS: usize = 3;

/// What to serve with, whatever the program is called.
#[derive(Debug)]
pub(crate) struct Launch {
    /// The configuration file.
    pub(crate) file: PathBuf,
    /// What becomes of its settings that cannot be used.
    pub(crate) strictness: Strictness,
    /// Whether a saved configuration is put aside.
    pub(crate) initial: bool,
    /// Whether the file's rows are added to the saved configuration.
    pub(crate) reload: bool,
    /// Whether other instances may listen on the same ports.
    pub(crate) beside: bool,
    /// What counts before the configuration.
    pub(crate) overrides: Overrides,
    /// Of a program that stands in for ProxySQL: the `datadir` without another one. What ProxySQL
    /// has saved in its `datadir` is imported by the first start.
    pub(crate) usual_datadir: Option<&'static str>,
    /// What to log first, one line each.
    pub(crate) notices: Vec<String>,
}

impl From<ServeArgs> for Launch {
    fn from(args: ServeArgs) -> Self {
        Self {
            strictness: args.config.strictness(),
            file: args.config.config,
            initial: args.initial,
            reload: args.reload,
            beside: args.reuse_port,
            overrides: Overrides { log_format: args.log_format.map(Into::into), ..Overrides::default() },
            usual_datadir: None,
            notices: Vec::new(),
        }
    }
}

impl Launch {
    /// Reads the file, and finds `datadir`.
    fn load(&mut self) -> anyhow::Result<Loaded> {
        let mut loaded = file::load(&self.file, self.strictness)?;
        if let (None, Some(usual), true) =
            (&self.overrides.datadir, self.usual_datadir, loaded.config.datadir.is_empty())
        {
            self.overrides.datadir = Some(usual.to_owned());
        }
        self.overrides.locate(&mut loaded);
        if self.usual_datadir.is_some() && !self.initial {
            take_over(Path::new(&loaded.config.datadir))?;
        }
        Ok(loaded)
    }
}

/// Imports what ProxySQL has saved in `datadir`, unless there is a saved configuration already.
fn take_over(datadir: &Path) -> anyhow::Result<()> {
    let theirs = datadir.join("proxysql.db");
    if !theirs.is_file() || admin::saved_in(datadir).is_some() {
        return Ok(());
    }
    let imported = admin::import(&theirs, datadir)
        .with_context(|| format!("cannot import {}; --initial starts with the file", theirs.display()))?;
    tracing::info!(database = %theirs.display(), "what ProxySQL has saved is imported, once");
    imported.taken.iter().for_each(|line| tracing::info!("taken: {line}"));
    imported.left.iter().for_each(|line| tracing::warn!("left: {line}"));
    Ok(())
}

/// Takes the configuration of a `proxysql.db` into a new saved configuration in `datadir`, and
/// tells what became of it.
pub(crate) fn import(database: &Path, datadir: &Path) -> anyhow::Result<ExitCode> {
    let imported = admin::import(database, datadir)?;
    for line in &imported.taken {
        say!("taken: {line}");
    }
    for line in &imported.left {
        say!("left: {line}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Serves clients with the saved configuration or that of the file until a signal ends it. Where
/// the log is JSON, it has the error as well, and none is returned.
pub(crate) fn serve(launch: Launch) -> anyhow::Result<ExitCode> {
    let started = Instant::now();
    // While the tables of the admin port are made.
    proxy::gather_entropy();
    let mut log = Log::begin(launch.overrides.log_format.unwrap_or_default());
    match serve_with(launch, &mut log, started) {
        Err(error) if log.form() == LogFormat::Json => {
            tracing::error!(error = format!("{error:#}"), "cannot serve");
            Ok(ExitCode::FAILURE)
        }
        outcome => outcome,
    }
}

fn serve_with(mut launch: Launch, log: &mut Log, started: Instant) -> anyhow::Result<ExitCode> {
    launch.notices.iter().for_each(|notice| tracing::info!("{notice}"));
    let loaded = launch.load()?;
    let Launch { file, initial, reload, beside, overrides, .. } = launch;
    let booted = admin::boot(admin::Start { file, loaded, initial, reload })?;
    log.go_on_as(overrides.log_format.unwrap_or(booted.store.config().log_format));
    log.go_on_in(&booted.store.config().errorlog);
    raise_file_limit();
    forbid_core_files();
    if let Some(warning) = proxy::too_few_descriptors(booted.store.config()) {
        tracing::warn!("{warning}");
    }
    for warning in &booted.warnings {
        tracing::warn!("{warning}");
    }
    let control = Builder::new_multi_thread()
        .worker_threads(CONTROL_THREADS)
        .max_blocking_threads(CONTROL_BLOCKING_THREADS)
        .thread_name("control")
        .enable_all()
        .build()
        .context("cannot start the control runtime")?;
    // Before it can be replaced by a newer one.
    let program = std::env::current_exe();
    let outcome = control.block_on(run(booted, overrides, control.handle(), log, beside, started))?;
    // Not waiting for what still runs there: sessions are over, or are to be cut off.
    control.shutdown_background();
    if outcome == Order::Restart {
        // Returns only if it cannot be done. Sockets and files are closed by the system.
        let mut arguments = std::env::args_os();
        let mut command = Command::new(program?);
        if let Some(name) = arguments.next() {
            command.arg0(name);
        }
        let error = command.args(arguments).exec();
        return Err(error).context("cannot start anew");
    }
    Ok(ExitCode::SUCCESS)
}

/// Serves until a signal or an admin ends it, `beside` other instances or not; returns what to do
/// after that.
async fn run(
    Booted { mut store, claim, .. }: Booted,
    overrides: Overrides,
    control: &Handle,
    log: &Log,
    beside: bool,
    started: Instant,
) -> anyhow::Result<Order> {
    // Before anything listens, so that no signal can come too early.
    let mut signals = Signals::new()?;
    let manager = Manager::find();
    let config = overrides.effective(store.config());
    let (sender, mut orders) = unbounded_channel();
    let admins = overrides.admin.clone();
    let program = Arc::new(Program { log: log.clone(), overrides, orders: sender });
    let proxy = Proxy::start(&config, control, program, beside)?;
    let plane: Arc<dyn DataPlane> = Arc::new(proxy.remote());
    store.attach(Arc::clone(&plane));
    let port = Port::start_at(store, &plane, control, admins).context("the admin port cannot be opened")?;
    port.save_first().await.context("the configuration cannot be saved in datadir")?;
    let _pid = PidFile::write(&config.pidfile);
    let web = Web::start(port.engine(), &plane, control);
    announce(&proxy, &port, &config, started);
    look_at_shards(&plane, &config)?;
    manager.tell(Phase::Ready);
    let end = loop {
        tokio::select! {
            order = signals.next() => match order {
                Order::ReloadTls => tokio::task::block_in_place(|| {
                    manager.tell(Phase::Reloading);
                    if let Err(error) = plane.order(order) {
                        tracing::error!(%error, "TLS stays as it was");
                    }
                    manager.tell(Phase::Ready);
                }),
                Order::FlushLogs => match tokio::task::block_in_place(|| plane.order(order)) {
                    Ok(()) => tracing::info!(
                        "the query log and the slow log go on in new files, where there are any"
                    ),
                    Err(error) => tracing::error!(%error, "new files are begun when that is over"),
                },
                _ => break order,
            },
            Some(order) = orders.recv() => break order,
        }
    };
    if end != Order::Restart {
        manager.tell(Phase::Stopping);
    }
    if end == (Order::Shutdown { slow: false }) {
        tracing::warn!(sessions = proxy.sessions(), "ended at once, as an admin wants it");
        proxy.cut_off().await;
        port.close().end().await;
        return Ok(end);
    }
    tracing::info!(sessions = proxy.sessions(), "shutting down; a second signal ends at once");
    // So that another process can listen there, as it can where clients connect, run what the
    // scheduler has, and use datadir.
    drop(web);
    let admins = port.close();
    drop(claim);
    tokio::select! {
        () = proxy.drain() => tracing::info!("all sessions have ended"),
        () = signals.end() => tracing::warn!("ended at once"),
    }
    admins.end().await;
    Ok(end)
}

/// Logs what is wrong with the tables of the layout at their servers, on a thread of its own: no
/// client waits for that.
fn look_at_shards(plane: &Arc<dyn DataPlane>, config: &Arc<Config>) -> anyhow::Result<()> {
    if config.shards.is_none() {
        return Ok(());
    }
    let (plane, config) = (Arc::clone(plane), Arc::clone(config));
    let look = move || {
        let found = plane.check_shards(&config);
        for problem in &found.problems {
            tracing::warn!(finding = %problem, "a sharded table is not as it should be");
        }
        for warning in &found.warnings {
            tracing::warn!("shards: {warning}");
        }
    };
    std::thread::Builder::new().name("shards".to_owned()).spawn(look).context("cannot start a thread")?;
    Ok(())
}

/// One line that says what listens where.
fn announce(proxy: &Proxy, port: &Port, config: &Config, started: Instant) {
    let listeners: Vec<String> = proxy
        .addresses()
        .iter()
        .map(|(address, protocol)| match protocol {
            Protocol::Mysql => address.to_string(),
            Protocol::Tcp => format!("{address} (tcp)"),
        })
        .collect();
    let admins: Vec<String> = port.addresses().iter().map(ToString::to_string).collect();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        listen = listeners.join(", "),
        admin = admins.join(", "),
        threads = config.variables.threads,
        servers = config.servers.len(),
        users = config.users.len(),
        ms = started.elapsed().as_millis(),
        "ready"
    );
}

/// Allows as many file descriptors as the system lets this process have: a session needs two.
fn raise_file_limit() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    if let Err(error) =
        rustix::process::setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })
    {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

/// Has the kernel write no core file: the memory of this process has passwords of users. Root can
/// still make one with gcore.
fn forbid_core_files() {
    let limit = rustix::process::getrlimit(Resource::Core);
    let limited = rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), ..limit });
    // A program that takes core files over a pipe is not bound by that limit, and other processes
    // of the same user could read the memory.
    let hidden = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
    if let Err(error) = limited.and(hidden) {
        tracing::warn!(%error, "a crash may write a core file, with passwords in it");
    }
}

/// The signals that the proxy obeys.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
    user: Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
            hangup: listen(SignalKind::hangup())?,
            user: listen(SignalKind::user_defined1())?,
        })
    }

    /// Waits for the next one: SIGTERM and Ctrl-C end the process, SIGHUP has the files of TLS read
    /// again, SIGUSR1 begins new files of the logs.
    async fn next(&mut self) -> Order {
        tokio::select! {
            _ = self.terminate.recv() => Order::Shutdown { slow: true },
            _ = self.interrupt.recv() => Order::Shutdown { slow: true },
            _ = self.hangup.recv() => Order::ReloadTls,
            _ = self.user.recv() => Order::FlushLogs,
        }
    }

    /// Waits for SIGTERM or Ctrl-C.
    async fn end(&mut self) {
        while self.next().await != (Order::Shutdown { slow: true }) {}
    }
}
