//! What each image may occupy: `host-tests/budgets.toml`, a row for each board and set of features.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail, ensure};
use dunlin_host::error::Error;
use serde::Deserialize;

use crate::firmware::boards::{BOARDS, Board};
use crate::shell::root;

/// The limits of one image.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Bytes of code, constants and initial values.
    pub flash: u64,
    /// Bytes of variables with a place of their own.
    pub static_ram: u64,
    /// Bytes that have to be left for the stack. Firmware has to say so.
    pub stack: Option<u64>,
    /// Pages that it has to hold. Firmware has to say so.
    pub pages: Option<u32>,
    /// Calls of panic functions in the image.
    pub panic_sites: usize,
    /// What its features may add to [the image that has most of them](Image::base).
    pub more: Option<More>,
    /// Built by `cargo xtask test --long` alone: other rows have the same parts.
    #[serde(default)]
    pub long: bool,
}

/// What features may add to an image.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct More {
    /// Bytes of code, constants and initial values.
    pub flash: u64,
    /// Bytes of variables with a place of their own.
    pub static_ram: u64,
}

/// Which rows are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Every row there is.
    All,
    /// All but those that are left to `--long`.
    Ordinary,
}

impl Rows {
    /// Those of a run of the tests.
    pub fn of_run(long: bool) -> Self {
        match long {
            true => Self::All,
            false => Self::Ordinary,
        }
    }
}

/// An image that has a budget: a binary of a board, with some of the board's features.
#[derive(Clone, Debug)]
pub struct Image {
    /// The row's name: the binary, and `+FEATURE` for each feature.
    pub name: String,
    /// Whose image it is.
    pub board: &'static Board,
    /// The binary: the board's firmware has the board's name.
    pub binary: String,
    /// Features that are switched on beyond the default ones.
    pub features: Vec<String>,
    /// What it may occupy.
    pub budget: Budget,
}

impl Image {
    /// Is it a board's firmware, and not another of its binaries?
    pub fn is_firmware(&self) -> bool {
        self.binary == self.board.name
    }

    /// Is it a board's boot loader?
    pub fn is_boot_loader(&self) -> bool {
        self.binary == self.board.boot_binary()
    }

    /// Of these, the image of the same binary with most of its features, but not all: what `more`
    /// is held against. `None` if there is none, or several have as many.
    pub fn base<'i>(&self, images: impl IntoIterator<Item = &'i Self>) -> Option<&'i Self> {
        let has = |feature: &String| self.features.contains(feature);
        let mut fewer: Vec<&Self> = images
            .into_iter()
            .filter(|other| other.binary == self.binary && other.name != self.name)
            .filter(|other| other.features.iter().all(has))
            .collect();
        fewer.sort_by_key(|other| std::cmp::Reverse(other.features.len()));
        match fewer[..] {
            [first, second, ..] if first.features.len() == second.features.len() => None,
            [first, ..] => Some(first),
            [] => None,
        }
    }

    /// Does it speak https itself?
    pub fn speaks_https(&self) -> bool {
        self.features.iter().any(|feature| feature == HTTPS)
    }
}

/// The feature with which a board speaks https.
pub const HTTPS: &str = "tls";
/// The feature with which a board takes signed updates.
pub const UPDATE: &str = "update";

/// The feature with which a board is a probe of a fleet.
pub const FLEET: &str = "fleet";

/// The feature with which a board listens to what hosts say about their pages.
pub const HINTS: &str = "hints";
/// The feature that hears signed datagrams about them.
pub const PUSH: &str = "push";

/// The feature with which a board hands copies to a collector.
pub const COLLECT: &str = "collect";
/// The feature with which a board knows what of single pages counts as a change.
pub const FILTER: &str = "filter";
/// The feature with which a board puts headers of its owner's into requests.
pub const HEADERS: &str = "headers";

/// The feature with which a board finds pages beyond its list.
pub const DISCOVER: &str = "discover";

/// The images that have a row, boards' firmware first.
///
/// # Errors
/// The file is malformed, a row is for what no board can build, or a board has none.
pub fn images(rows: Rows) -> Result<Vec<Image>> {
    let file = root().join("host-tests/budgets.toml");
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut images = parse(&text, features_of).with_context(|| format!("in {}", file.display()))?;
    images.retain(|image| rows == Rows::All || !image.budget.long);
    Ok(images)
}

/// The image of this name.
///
/// # Errors
/// [`Error::Usage`], if it has no row.
pub fn image(name: &str) -> Result<Image> {
    let images = images(Rows::All)?;
    let known: Vec<&str> = images.iter().map(|image| image.name.as_str()).collect();
    let missing = Error::Usage(format!(
        "found image {name:?}, for which host-tests/budgets.toml has no row; expected one of {}, or a new table [\"{name}\"]",
        known.join(", ")
    ));
    let found = images.iter().find(|image| image.name == name);
    Ok(found.ok_or(missing)?.clone())
}

/// Is a board's firmware with these features known to fit? It is if a row has all of them, and
/// perhaps more: what a log takes is not missed where there is none. With https or updates, or
/// without, it is another memory map, so in that a row has to be the same.
///
/// # Errors
/// [`Error::Usage`], if no row has them.
pub fn check_combination(board: &Board, features: &[String]) -> Result<()> {
    let covers = |image: &Image| {
        image.is_firmware()
            && image.board.name == board.name
            && [HTTPS, UPDATE].iter().all(|map| {
                let has = |features: &[String]| features.iter().any(|one| one == map);
                has(&image.features) == has(features)
            })
            && features.iter().all(|one| image.features.contains(one))
    };
    if images(Rows::All)?.iter().any(covers) {
        return Ok(());
    }
    let parts: Vec<&str> = [board.name]
        .into_iter()
        .chain(features.iter().map(String::as_str))
        .collect();
    image(&parts.join("+")).map(drop)
}

/// Reads the rows; `features_of` knows a board's features.
fn parse(text: &str, features_of: impl Fn(&Board) -> Result<Vec<String>>) -> Result<Vec<Image>> {
    let rows: BTreeMap<String, Budget> = toml::from_str(text)?;
    let mut images = Vec::new();
    for (name, budget) in rows {
        let mut parts = name.split('+').map(str::to_owned);
        let binary = parts.next().unwrap_or_default();
        let features: Vec<String> = parts.collect();
        let board = board_of(&binary)
            .with_context(|| format!("row {name:?} is for no board, nor a binary of one"))?;
        let known = features_of(board)?;
        for feature in &features {
            ensure!(
                known.contains(feature),
                "row {name:?}: {} has no feature {feature:?}, expected one of {known:?}",
                board.name
            );
        }
        ensure!(
            features.is_sorted_by(|one, next| one < next),
            "row {name:?}: features are named once each and in the order of the alphabet"
        );
        let image = Image {
            name,
            board,
            binary,
            features,
            budget,
        };
        let is_said = budget.stack.is_some() && budget.pages.is_some();
        ensure!(
            is_said || !image.is_firmware(),
            "row {:?}: firmware says how many bytes are left for its `stack`, and how many `pages` it holds",
            image.name
        );
        images.push(image);
    }
    for board in BOARDS {
        if !images.iter().any(|image| image.name == board.name) {
            bail!("board {} has no row: add a table [{0}]", board.name);
        }
    }
    for image in images.iter().filter(|image| image.budget.more.is_some()) {
        ensure!(
            image.base(&images).is_some(),
            "row {:?}: found no row, or several, with most of its features, expected one that `more` is held against",
            image.name
        );
    }
    let place = |image: &Image| {
        let board = BOARDS
            .iter()
            .position(|board| board.name == image.board.name);
        (!image.is_firmware(), board, image.name.clone())
    };
    images.sort_by_key(place);
    Ok(images)
}

/// Whose binary it is: binaries begin with their board's name.
fn board_of(binary: &str) -> Option<&'static Board> {
    let of = |board: &&Board| {
        let rest = binary.strip_prefix(board.name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    BOARDS
        .iter()
        .filter(of)
        .max_by_key(|board| board.name.len())
}

/// The features that a board's manifest declares.
fn features_of(board: &Board) -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Manifest {
        #[serde(default)]
        features: BTreeMap<String, Vec<String>>,
    }
    let file = root().join("boards").join(board.name).join("Cargo.toml");
    let text =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let manifest: Manifest = toml::from_str(&text)
        .with_context(|| format!("cannot read the features in {}", file.display()))?;
    Ok(manifest.features.into_keys().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "flash = 3\nstatic_ram = 2\nstack = 4\npages = 5\npanic_sites = 1\n";

    /// Rows of these names, and of all boards.
    fn rows(names: &[&str]) -> String {
        let boards = BOARDS.iter().map(|board| board.name);
        boards
            .chain(names.iter().copied())
            .map(|name| format!("[\"{name}\"]\n{ROW}"))
            .collect()
    }

    fn some_features(_: &Board) -> Result<Vec<String>> {
        Ok(vec!["hints".into(), "tls".into()])
    }

    fn refused(text: &str) -> String {
        match parse(text, some_features) {
            Ok(images) => panic!("accepted {images:?}"),
            Err(error) => format!("{error:#}"),
        }
    }

    #[test]
    fn what_a_feature_adds_is_held_against_the_row_with_the_others() {
        let text = rows(&["pico2-w+hints", "pico2-w+hints+tls", "qemu-mps2+tls"]);
        let images = parse(&text, some_features).unwrap();
        let base = |name: &str| {
            let image = images.iter().find(|image| image.name == name).unwrap();
            image.base(&images).map(|base| base.name.as_str())
        };
        assert_eq!(base("pico2-w+hints+tls"), Some("pico2-w+hints"));
        assert_eq!(base("qemu-mps2+tls"), Some("qemu-mps2"));
        assert_eq!(base("pico2-w"), None);
        let several = rows(&["pico2-w+hints", "pico2-w+tls", "pico2-w+hints+tls"]);
        let more = "more = { flash = 1, static_ram = 1 }\n";
        let why = refused(&(several + more));
        assert!(
            why.contains("or several, with most of its features"),
            "{why}"
        );
    }

    #[test]
    fn a_row_is_a_board_a_binary_or_a_set_of_features() {
        let text = rows(&["qemu-mps2-fetch", "qemu-mps2+hints+tls", "pico2-w+tls"]);
        let images = parse(&text, some_features).unwrap();
        let names: Vec<&str> = images.iter().map(|image| image.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "qemu-mps2",
                "qemu-mps2+hints+tls",
                "nucleo-h753zi",
                "pico2-w",
                "pico2-w+tls",
                "w5500-evb-pico2",
                "qemu-mps2-fetch",
            ]
        );
        let both = &images[1];
        assert_eq!(both.board.name, "qemu-mps2");
        assert_eq!(both.binary, "qemu-mps2");
        assert_eq!(both.features, ["hints", "tls"]);
        assert_eq!(both.budget.flash, 3);
        let fetch = &images[6];
        assert_eq!(fetch.board.name, "qemu-mps2");
        assert_eq!(fetch.binary, "qemu-mps2-fetch");
        assert!(fetch.features.is_empty());
    }

    #[test]
    fn rows_that_cannot_be_built_are_refused_by_name() {
        let cases = [
            ("pico3", "row \"pico3\" is for no board"),
            ("pico2-w+fleet", "pico2-w has no feature \"fleet\""),
            ("pico2-w+tls+hints", "in the order of the alphabet"),
            ("pico2-w+tls+tls", "once each"),
        ];
        for (name, expected) in cases {
            let said = refused(&rows(&[name]));
            assert!(said.contains(expected), "{name}: {said}");
        }
    }

    #[test]
    fn a_board_without_a_row_is_refused_by_name() {
        let said = refused(&format!("[qemu-mps2]\n{ROW}"));
        assert_eq!(
            said,
            "board nucleo-h753zi has no row: add a table [nucleo-h753zi]"
        );
    }

    #[test]
    fn firmware_says_what_it_leaves_and_holds() {
        for line in ["stack = 4\n", "pages = 5\n"] {
            let said = refused(&rows(&[]).replacen(line, "", 1));
            assert!(said.contains("row \"qemu-mps2\": firmware says"), "{said}");
        }
        // Other binaries hold no pages.
        let other = format!("[qemu-mps2-fetch]\n{ROW}").replace("stack = 4\npages = 5\n", "");
        assert!(parse(&(rows(&[]) + &other), some_features).is_ok());
    }

    #[test]
    fn a_row_stands_for_what_has_less_but_not_for_another_map() {
        let board = Board::named("pico2-w").unwrap();
        let check = |features: &[&str]| {
            let features: Vec<String> = features.iter().map(|&one| one.into()).collect();
            check_combination(board, &features).map_err(|error| error.to_string())
        };
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&["usb-log"]), Ok(()));
        assert_eq!(check(&["tls", "usb-log"]), Ok(()));
        assert_eq!(check(&["tls", "update"]), Ok(()));
        let said = check(&["fleet", "tls"]).unwrap_err();
        assert!(said.contains("pico2-w+fleet+tls"), "{said}");
    }

    #[test]
    fn a_combination_without_a_row_is_refused_by_name() {
        let error = image("qemu-mps2+tls+unheard-of").unwrap_err();
        assert!(
            error
                .to_string()
                .contains("a new table [\"qemu-mps2+tls+unheard-of\"]"),
            "{error}"
        );
    }

    #[test]
    fn the_file_itself_is_sound() {
        let all = images(Rows::All).unwrap();
        let ordinary = images(Rows::Ordinary).unwrap();
        assert!(ordinary.len() < all.len());
        // Every feature of a board that is built at all is built in every run.
        for image in &all {
            let is_built = |feature: &String| {
                let same_board = |other: &&Image| other.binary == image.binary;
                let mut others = ordinary.iter().filter(same_board);
                others.any(|other| other.features.contains(feature))
            };
            let left: Vec<_> = image.features.iter().filter(|one| !is_built(one)).collect();
            assert!(left.is_empty(), "{}: {left:?}", image.name);
        }
    }
}
