//! The program as a user meets it: exit codes, one-line errors, nothing written when something is
//! wrong.

mod program;

use std::io::Write;
use std::process::{Command, Stdio};

use program::{dunlin, refuses, text};

fn refuses_pages(input: impl AsRef<[u8]>, expected: &str) {
    refuses(&["check", "-"], input.as_ref(), expected);
}

#[test]
fn version_and_help_teach() {
    let version = dunlin(&["--version"], b"");
    assert_eq!(
        text(&version.stdout),
        concat!("dunlin ", env!("CARGO_PKG_VERSION"), "\n")
    );
    let help = text(&dunlin(&["--help"], b"").stdout);
    for word in ["PAGES.csv", "check", "completions", "Exit codes"] {
        assert!(
            help.contains(word),
            "--help does not mention {word}:\n{help}"
        );
    }
    assert!(text(&dunlin(&["completions", "bash"], b"").stdout).contains("dunlin"));
}

#[test]
fn words_are_explained() {
    let terms = text(&dunlin(&["help", "terms"], b"").stdout);
    for word in [
        "bound", "optimum", "price", "harmonic", "late", "gate", "belief",
    ] {
        assert!(
            terms.contains(&format!("\n- {word}")),
            "{word} is not explained:\n{terms}"
        );
    }
    assert!(!terms.contains("**") && !terms.contains("Usage"), "{terms}");
    let asked = text(&dunlin(&["terms"], b"").stdout);
    assert_eq!(asked.trim_end(), terms.trim_end());
}

#[test]
fn bad_usage_is_one_line() {
    refuses(&["chekc"], b"", "unrecognized subcommand 'chekc'");
    refuses(&["check"], b"", "<PAGES.csv>");
    refuses(
        &["check", "-", "--format", "xml"],
        b"",
        "possible values: table, json, csv",
    );
    refuses(
        &["check", "no-such-file.csv"],
        b"",
        "cannot open no-such-file.csv",
    );
    refuses(&["check", "."], b"", "cannot read .");
    refuses(
        &["run", "https://example.org/sitemap.xml"],
        b"",
        "found the URL https://example.org/sitemap.xml, expected a file",
    );
    refuses(
        &["plan", "-", "--crawls", "many"],
        b"",
        "invalid value 'many' for '--crawls <N>': expected a number; see 'dunlin plan --help'",
    );
    refuses(
        &["run", "-", "--slots", "two"],
        b"",
        "invalid value 'two' for '--slots <N>': expected a whole number, without signs; see",
    );
    // A wrong value, too, names the help of its command.
    refuses(
        &["run", "-", "--politeness", "15"],
        b"",
        "such as 250ms, 15s, 10m, 6h or 1.5d, at most 36500d; see 'dunlin run --help'",
    );
}

#[test]
fn places_that_are_taken_are_said_with_what_to_do() {
    let list = b"http://a.test/\n";
    for command in ["check", "run"] {
        refuses(
            &[command, "-"],
            b"url\n",
            "-: found no pages, expected one URL a line",
        );
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    refuses(
        &["run", "-", "--seconds", "0", "--archive", file],
        list,
        "Cargo.toml: found a file, expected a folder to keep pages in, or none yet",
    );
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address").to_string();
    let output = dunlin(&["run", "-", "--seconds", "0", "--web", &address], list);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        error.contains("another program listens there: name a free port"),
        "{error}"
    );
}

#[test]
fn bad_files_are_named_with_line_and_column() {
    refuses_pages(
        "",
        "stdin: line 1: found an empty file, expected a header row: url, weight",
    );
    refuses_pages("weight\n1\n", "expected a column `url` in the header row");
    refuses_pages(
        "url,colour\n",
        "found unknown column \"colour\", expected columns among url, weight, model",
    );
    refuses_pages("url,url\n", "found column \"url\" twice");
    refuses_pages(
        "url\n\nhttp://a/\nftp://b/\n",
        "line 4, column 1 (url): found \"ftp://b/\"",
    );
    refuses_pages(
        "url,weight\nhttp://a/,heavy\n",
        "line 2, column 2 (weight): found \"heavy\", expected a number",
    );
    refuses_pages("url,weight\nhttp://a/,-1\n", "expected a number above 0");
    refuses_pages("url,weight\nhttp://a/,NaN\n", "expected a number above 0");
    refuses_pages(
        "url,weight\nhttp://a/\n",
        "line 2: found 1 field, expected 2 fields",
    );
    refuses_pages(
        "url\n\"http://a/\n",
        "line 2: found a quote that is not closed",
    );
    refuses_pages(
        "url\nhttp://a/~x\nHTTP://A:80/%7ex#top\n",
        "line 3, column 1 (url)",
    );
    refuses_pages("url\nhttp://me@a/\n", "expected a URL without user name");
    refuses_pages("url\nhttp://a:x/\n", "expected a port from 1 to 65535");
    refuses_pages(b"url\nhttp://a/\xff\n", "expected UTF-8 text");
    refuses_pages(
        "url,min,max\nhttp://a/,3,2\n",
        "column 3 (max): found \"2\", expected at least the minimum, 3",
    );
    for column in ["min", "max"] {
        for found in ["-1", "1.5", "often", "4294967296"] {
            refuses_pages(
                format!("url,{column}\nhttp://a/,{found}\n"),
                &format!(
                    "column 2 ({column}): found \"{found}\", expected a whole number from 0 to 4294967295"
                ),
            );
        }
    }
}

#[test]
fn objectives_and_intervals_are_checked_by_every_command_that_takes_them() {
    let out = std::env::temp_dir().join(format!("dunlin-refused-{}.img", std::process::id()));
    let path = out.to_str().expect("a path");
    for command in [
        &["run", "-", "--seconds", "0"][..],
        &["image", "-", "--out", path],
    ] {
        for (option, found, expected) in [
            ("--objective", "speed", "freshness, age"),
            ("--interval", "0s", "expected an interval from 1s to 49d"),
            ("--interval", "50d", "expected an interval from 1s to 49d"),
        ] {
            let arguments = [command, &[option, found]].concat();
            refuses(&arguments, b"url\nhttp://a.test/\n", expected);
        }
    }
    assert!(!out.exists());
    refuses(
        &["check", "-", "--interval", "0s"],
        b"url\nhttp://a.test/\n",
        "expected an interval from 1s to 49d",
    );
    let plan = ["plan", "-", "--crawls", "5", "--objective", "speed"];
    refuses(&plan, b"url\nhttp://a.test/\n", "freshness, age, harmonic");
}

#[test]
fn change_models_are_checked() {
    refuses_pages(
        "url,model\nhttp://a/,gauss\n",
        "expected poisson, weibull, pareto or quasi",
    );
    refuses_pages(
        "url,model,shape\nhttp://a/,pareto,1\n",
        "a shape above 1 (a Pareto law",
    );
    refuses_pages(
        "url,model,shape\nhttp://a/,weibull,\n",
        "found no shape, expected a shape above 0",
    );
    refuses_pages("url,shape\nhttp://a/,2\n", "nothing here for model poisson");
    refuses_pages(
        "url,changes_per_day\nhttp://a/,-0.1\n",
        "expected a number from 0",
    );
    for updates in ["6h", "6h:2", "6h:1;5h:1", "6:1", ""] {
        refuses_pages(
            format!("url,model,updates\nhttp://a/,quasi,{updates}\n"),
            "such as 6h:0.9;18h:1",
        );
    }
}

#[test]
fn an_endless_line_is_refused_after_a_few_kilobytes() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_dunlin"))
        .args(["check", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut pipe = child.stdin.take().expect("stdin is piped");
    pipe.write_all(b"url\nhttp://a/")
        .expect("the header row is read");
    let chunk = [b'x'; 1 << 16];
    let chunks = (0..1 << 14)
        .take_while(|_| pipe.write_all(&chunk).is_ok())
        .count();
    assert!(
        chunks < 32,
        "{chunks} × 64 KiB of a 1 GiB line were read before it was refused"
    );
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("line 2: found a line of more than 65536 bytes"));
}

#[test]
fn a_sound_list_is_counted_by_host_in_every_format() {
    let pages = "\u{feff}weight,url,changes_per_day,model,updates\r\n\
        2,http://a.example/,1.5,,\r\n\
        1,\"http://a.example/x,y\",,,\r\n\
        1,https://b.example:8443/,,quasi,6h:0.5;18h:1\r\n";
    let json = dunlin(&["check", "-", "--format", "json"], pages.as_bytes());
    assert_eq!(json.status.code(), Some(0), "{}", text(&json.stderr));
    assert_eq!(
        text(&json.stdout),
        r#"[{"host":"a.example","pages":2,"weight":3.0,"changes_per_day":1.5,"rates_unknown":1,"gate":"a.example","politeness_s":0.0},{"host":"b.example:8443","pages":1,"weight":1.0,"changes_per_day":1.5,"rates_unknown":0,"gate":"b.example:8443","politeness_s":0.0}]"#
            .to_owned()
            + "\n"
    );
    let csv = text(&dunlin(&["check", "-", "--format", "csv"], pages.as_bytes()).stdout);
    assert_eq!(
        csv.lines().nth(2),
        Some("b.example:8443,1,1,1.5,0,b.example:8443,0")
    );
    let table = text(&dunlin(&["check", "-"], pages.as_bytes()).stdout);
    assert!(
        table.contains("a.example           2       3           1.5000              1  a.example"),
        "{table}"
    );
}

#[test]
fn hosts_of_a_group_share_a_gate_and_its_longest_politeness() {
    let folder = std::env::temp_dir().join(format!("dunlin-cli-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let hosts = folder.join("hosts.csv");
    let hosts_path = hosts.to_str().expect("a UTF-8 path");
    let pages = b"url\nhttp://a/\nhttp://b/\nhttp://c/\n";
    std::fs::write(
        &hosts,
        "host,group,politeness,hours\na,shared,20s,\nb,shared,,22-06\n",
    )
    .expect("written");
    let arguments = [
        "check",
        "-",
        "--hosts",
        hosts_path,
        "--politeness",
        "15s",
        "--format",
        "csv",
    ];
    let rows = text(&dunlin(&arguments, pages).stdout);
    assert_eq!(
        rows.lines().skip(1).collect::<Vec<_>>(),
        [
            "a,1,1,0,1,shared,20",
            "b,1,1,0,1,shared,20",
            "c,1,1,0,1,c,15"
        ]
    );
    std::fs::write(&hosts, "host,hours\na,22-25\n").expect("written");
    refuses(
        &arguments,
        pages,
        "line 2, column 2 (hours): found \"22-25\", expected local hours",
    );
    std::fs::write(&hosts, "host,provider\na,\na,\n").expect("written");
    refuses(
        &arguments,
        pages,
        "line 3, column 1 (host): found \"a\", expected each host once",
    );
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[test]
fn robots_says_which_rule_decides() {
    let file = b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /\r\n\r\nUser-agent: Dunlin\r\nDisallow: /private # ours\r\n\
        Crawl-delay: 2.5\r\nAllow: /private/open\r\n";
    let ask = |arguments: &[&str]| {
        let output = dunlin(&[&["robots", "-"], arguments].concat(), file);
        (output.status.code(), text(&output.stdout))
    };
    let answer = |code, stdout: &str| (Some(code), stdout.to_owned());
    assert_eq!(
        ask(&["http://a/private/x"]),
        answer(
            1,
            "disallowed  (line 5: Disallow: /private # ours)\ncrawl-delay 2.5 s\n"
        )
    );
    assert_eq!(
        ask(&["--agent", "dunlin/0.1", "http://a/private/open"]),
        answer(
            0,
            "allowed  (line 7: Allow: /private/open)\ncrawl-delay 2.5 s\n"
        )
    );
    assert_eq!(
        ask(&["http://a/"]),
        answer(0, "allowed  (no rule matches)\ncrawl-delay 2.5 s\n")
    );
    assert_eq!(
        ask(&["--agent", "other", "http://a/"]),
        answer(1, "disallowed  (line 2: Disallow: /)\n")
    );
    assert_eq!(
        ask(&["--agent", "other", "http://a/robots.txt"]),
        answer(0, "allowed  (robots.txt itself always is)\n")
    );
    assert_eq!(
        ask(&["--agent", "other", "http://a/", "--format", "json"]),
        answer(
            1,
            "{\"url\":\"http://a/\",\"agent\":\"other\",\"allowed\":false,\"line\":2,\"rule\":\"Disallow: /\",\"crawl_delay_s\":null}\n"
        )
    );
    assert_eq!(
        ask(&["--agent", "other", "http://a/,b", "--format", "csv"]),
        answer(
            1,
            "url,agent,allowed,line,rule,crawl_delay_s\n\"http://a/,b\",other,false,2,Disallow: /,\n"
        )
    );
    refuses(
        &["robots", "-", "ftp://a/"],
        file,
        "\"ftp://a/\": URL does not start with http:// or https://",
    );
    refuses(
        &["robots", "-", "http://a/", "--agent", "a b"],
        file,
        "agent must be a name",
    );
    refuses(
        &["robots", "no-such-file", "http://a/"],
        b"",
        "cannot open no-such-file",
    );
    refuses(&["robots", ".", "http://a/"], b"", "cannot read .");
}
