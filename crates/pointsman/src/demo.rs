//! The demo.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {}
pub(crate) fn run(_args: DemoArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("not built yet")
}
