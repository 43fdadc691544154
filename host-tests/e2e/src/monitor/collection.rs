//! What changed, seen in a real browser as somebody with a phone or without a mouse sees it: recent
//! changes, filters, both views of a difference, and a page's history. What strangers wrote is text
//! all the way.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use dunlin_tools::qemu::temporary;
use dunlin_tools::web::{Answer, Web};
use serde_json::{Value, json};

use super::browser::Browser;
use super::live::{asked_nobody_else, wait_for};
use super::program::Monitor;

const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";
/// Stops on the way through a page: more than any page here has.
const STOPS: usize = 80;

/// Pages whose content would like to take the browser over, and one that is gone.
fn serve() -> Result<Web> {
    let asked = AtomicUsize::new(0);
    Web::start(move |hit| match hit.path.as_str() {
        "/robots.txt" | "/gone" => Answer::status(404, "X: none"),
        _ => {
            // Some seconds each: versions of one second cannot be told apart by their moment.
            let version = asked.fetch_add(1, Ordering::Relaxed) / 30;
            let word = "unbreakable".repeat(20);
            Answer::page(&format!(
                "<h1>Heading</h1><p>Steady line</p>\n<p>Version {version} {word}</p>\n\
                <script>document.title = 'taken'</script>\n\
                <img src=x onerror=\"document.title = 'taken'\">\n<p>End</p>"
            ))
        }
    })
}

/// A browser on one page after the other, by keys alone.
pub(super) struct Reader<'b> {
    pub browser: &'b Browser,
}

impl Reader<'_> {
    pub(super) fn ask(&self, script: &str) -> Result<Value> {
        self.browser.run(script)
    }

    /// Goes to what has this text or is this element, as one without a mouse would, and sees where
    /// it is.
    fn go_to(&self, what: &str) -> Result<()> {
        for _ in 0..STOPS {
            self.browser.press(TAB)?;
            let at = self.ask(
                "const at = document.activeElement; const style = getComputedStyle(at);\n\
                return [at.textContent.trim(), at.tagName, style.outlineStyle]",
            )?;
            if at[0] == what || at[1] == what {
                ensure!(at[2] != "none", "nobody sees that {what} has the focus");
                return Ok(());
            }
        }
        anyhow::bail!("no key leads to {what}")
    }

    /// Follows a link by its text.
    fn follow(&self, text: &str, to: &str) -> Result<()> {
        self.go_to(text)?;
        self.browser.press(ENTER)?;
        wait_for(self.browser, &format!("location.href.includes('{to}')"))?;
        wait_for(self.browser, "document.readyState === 'complete'")?;
        self.look()
    }

    /// The page fits, can be read, and is what we made of it.
    pub(super) fn look(&self) -> Result<()> {
        let at = self.browser.text("return location.pathname")?;
        let width = self.ask("return document.scrollingElement.scrollWidth")?;
        ensure!(
            width.as_u64().is_some_and(|width| width <= 360),
            "{at} is {width} wide on a phone of 360"
        );
        for scheme in ["light", "dark"] {
            let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
            self.browser
                .devtools("Emulation.setEmulatedMedia", features)?;
            // These pages may be short.
            let script = include_str!("accessible.js").replace("checked < 20", "checked < 6");
            let problems = self.browser.text(&script)?;
            ensure!(problems.is_empty(), "{at} in {scheme} colours:\n{problems}");
        }
        let foreign = "return document.querySelectorAll('script, img, iframe, object').length";
        ensure!(self.ask(foreign)? == 0, "{at} has elements of a stranger");
        let title = self.browser.text("return document.title")?;
        ensure!(title != "taken", "{at} was taken over");
        Ok(())
    }
}

/// Watches a small web, and goes through its changes on a phone, by keyboard.
pub fn check(program: &Path, browser: &Browser) -> Result<()> {
    let web = serve()?;
    let port = web.port();
    let folder = temporary("phone-archive");
    let list = temporary("phone-list");
    let long = "a/very/long/path/that/goes/on/and/on/without/an/end/and/then/some/more";
    let pages = format!(
        "url,name\nhttp://a.test:{port}/page1,\nhttp://b.test:{port}/{long}/page2?with=a&query=too,Second\n\
        http://c.test:{port}/gone,\n"
    );
    fs::write(&list, pages)?;
    let arguments = [
        list.to_str().context("a path")?,
        "--politeness",
        "200ms",
        "--crawls-per-day",
        "max",
        "--resolve",
        "*=127.0.0.1",
        "--archive",
        folder.to_str().context("a path")?,
    ];
    let site = Monitor::start(program, "run", &arguments.map(str::to_owned))?;
    let seen = on_a_phone(browser, || look_around(browser, &site));
    let _ = (fs::remove_dir_all(&folder), fs::remove_file(&list));
    seen
}

/// Lets the browser be one of a phone while somebody looks.
pub(super) fn on_a_phone(browser: &Browser, look: impl FnOnce() -> Result<()>) -> Result<()> {
    let phone = json!({"width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true});
    browser.devtools("Emulation.setDeviceMetricsOverride", phone)?;
    let seen = look();
    browser.devtools("Emulation.clearDeviceMetricsOverride", json!({}))?;
    let features = json!({"features": [{"name": "prefers-color-scheme", "value": "light"}]});
    browser.devtools("Emulation.setEmulatedMedia", features)?;
    seen
}

fn look_around(browser: &Browser, site: &Monitor) -> Result<()> {
    let reader = Reader { browser };
    // What the page before this one asked for, and complained of, is not ours.
    browser.open(&format!("{}changes", site.url))?;
    let _ = (browser.log("browser")?, browser.log("performance")?);
    // Until both pages have changed, and the third is gone.
    for _ in 0..100 {
        browser.open(&format!("{}changes", site.url))?;
        let rows = reader.ask("return document.querySelector('#changes').innerText")?;
        let rows = rows.as_str().unwrap_or_default();
        if rows.contains("page1") && rows.contains("Second") && rows.contains("gone") {
            break;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    reader.look()?;
    // A word to look for.
    reader.go_to("INPUT")?;
    browser.press("second")?;
    browser.press(ENTER)?;
    wait_for(browser, "location.search.includes('q=second')")?;
    reader.look()?;
    let others = "return document.querySelector('#changes').innerText.includes('page1')";
    ensure!(reader.ask(others)? == false, "the filter leaves others");
    // Both views of what changed, and its markup as text.
    reader.follow("what changed", "/diff")?;
    let lines =
        "return [document.querySelectorAll('del').length, document.querySelectorAll('ins').length]";
    ensure!(
        reader.ask(lines)? == json!([1, 1]),
        "inline: {}",
        reader.ask(lines)?
    );
    reader.follow("side by side", "view=side")?;
    let cells = "return document.querySelector('ins').closest('tr').cells.length";
    ensure!(
        reader.ask(cells)? == 4,
        "side by side: {}",
        reader.ask(cells)?
    );
    reader.follow("with markup", "raw=1")?;
    let raw =
        "return document.querySelector('#diff').innerText.includes(\"<script>document.title\")";
    ensure!(reader.ask(raw)? == true, "the markup is not shown as text");
    // The page's history, and what one can filter by without a letter.
    reader.follow("history", "/history")?;
    let versions = reader.ask("return document.querySelectorAll('#timeline li').length")?;
    ensure!(
        versions.as_u64().is_some_and(|count| count >= 2),
        "{versions} versions"
    );
    reader.follow("recent changes", "/changes")?;
    reader.go_to("SELECT")?;
    browser.press("gone")?;
    reader.go_to("Filter")?;
    browser.press(ENTER)?;
    wait_for(browser, "location.search.includes('event=gone')")?;
    let rows = "return document.querySelectorAll('#changes td.bad').length";
    ensure!(reader.ask(rows)? == 1, "gone once: {}", reader.ask(rows)?);
    asked_nobody_else(browser, &site.url)
}
