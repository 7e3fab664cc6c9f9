//! The repository's pages: links lead somewhere, the manual's list of pages is complete, and so is
//! its table of errors.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Folders without pages of ours.
const SKIPPED: [&str; 2] = ["target", ".git"];

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", root.display()))
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All pages in `folder` and below it.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut pages = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() && !SKIPPED.contains(&name.as_str()) {
            pages.extend(self::pages(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    pages
}

/// The lines of a page that are not code, without the code that stands in them.
fn prose(page: &str) -> impl Iterator<Item = String> {
    let mut fenced = false;
    page.lines()
        .filter(move |line| {
            let fence = line.trim_start().starts_with("```");
            fenced ^= fence;
            !fenced && !fence && !line.starts_with("    ")
        })
        .map(|line| line.split('`').step_by(2).collect::<Vec<_>>().join("x"))
}

/// The targets of a page's links and images: what stands in `](...)`.
fn links(page: &str) -> Vec<String> {
    let targets = |line: String| -> Vec<String> {
        let ends = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        ends.map(|(target, _)| target.to_owned()).collect()
    };
    prose(page).flat_map(targets).collect()
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(page: &str) -> BTreeSet<String> {
    // Code in headings counts, so this is not about prose.
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|&c| c.is_alphanumeric() || " -_".contains(c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// Why a link on `page` leads nowhere.
fn broken(page: &Path, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let target =
        if file.is_empty() { page.to_owned() } else { page.parent().unwrap_or(Path::new("")).join(file) };
    if !target.exists() {
        return Some(format!("{}: there is no {link}", page.display()));
    }
    let anchor = anchor.filter(|anchor| !anchors(&text(&target)).contains(*anchor))?;
    Some(format!("{}: {link} has no heading for #{anchor}", page.display()))
}

#[test]
fn links_lead_somewhere() {
    let pages = pages(&root());
    let links: Vec<_> = pages
        .iter()
        .flat_map(|page| links(&text(page)).into_iter().map(|link| (page.clone(), link)))
        .collect();
    assert!(pages.len() > 10 && links.len() > 50, "{} pages with {} links", pages.len(), links.len());
    let broken: Vec<String> = links.iter().filter_map(|(page, link)| broken(page, link)).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn links_are_found_where_they_are_and_not_in_code() {
    let page =
        "a [b](c.md) and ![d](e.svg), `[no](no.md)`\n```\n[no](no.md)\n```\n    [no](no.md)\n[`f`](#g)\n";
    assert_eq!(links(page), ["c.md", "e.svg", "#g"]);
}

#[test]
fn a_link_to_nowhere_is_noticed() {
    let page = root().join("README.md");
    assert!(broken(&page, "nowhere.md").is_some());
    assert!(broken(&page, "CONTRIBUTING.md#no-such-heading").is_some());
    assert_eq!(broken(&page, "CONTRIBUTING.md#tests"), None);
}

#[test]
fn the_manual_lists_all_its_pages() {
    let folder = root().join("docs/src");
    let listed: BTreeSet<PathBuf> =
        links(&text(&folder.join("SUMMARY.md"))).iter().map(|link| folder.join(link)).collect();
    let written: BTreeSet<PathBuf> =
        pages(&folder).into_iter().filter(|page| !page.ends_with("SUMMARY.md")).collect();
    assert_eq!(listed, written);
}

/// The manual is a site of its own, too: what lies outside is not there.
#[test]
fn links_of_the_manual_stay_in_it() {
    let leads_out = |page: &PathBuf| {
        let links = links(&text(page)).into_iter().filter(|link| link.contains("../"));
        links.map(|link| format!("{}: {link}", page.display())).collect::<Vec<_>>()
    };
    let out: Vec<String> = pages(&root().join("docs/src")).iter().flat_map(leads_out).collect();
    assert!(out.is_empty(), "{}", out.join("\n"));
}

/// The codes of the rows in the first table of the manual's page, against those in the source.
#[test]
fn the_manual_has_every_error_of_the_proxy() {
    let source = text(&root().join("crates/session/src/error.rs"));
    let made: BTreeSet<&str> = source
        .split(" => ")
        .skip(1)
        .filter_map(|rest| rest.split_once(',').map(|(code, _)| code))
        .filter(|code| code.parse::<u16>().is_ok())
        .collect();
    let page = text(&root().join("docs/src/errors.md"));
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |"));
    let described: BTreeSet<&str> =
        rows.map(|(code, _)| code).filter(|code| code.parse::<u16>().is_ok()).collect();
    assert_eq!(made, described);
    assert!(made.len() > 10, "{made:?}");
}
