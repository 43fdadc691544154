//! What no honest server sends: each an answer to a page, to robots.txt, or a redirect.

use super::names::LIES;

/// What is sent, and how the connection ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// These bytes, then the connection is closed.
    Bytes(Vec<u8>),
    /// These bytes, and the connection stays open for the next request.
    Kept(Vec<u8>),
    /// These bytes, then this piece again and again, so many times.
    Endless(Vec<u8>, Vec<u8>, usize),
    /// These bytes, then nothing until the other side gives up.
    Stalled(Vec<u8>),
    /// These bytes, one at a time, a tenth of a second apart, until the other side gives up.
    Trickled(Vec<u8>),
}

/// An answer that is not to harm anybody, and what it is called.
#[derive(Clone, Debug)]
pub struct Hostile {
    /// What a failure calls it.
    pub name: String,
    /// The bytes that are sent, and how.
    pub sent: Sent,
}

impl Hostile {
    /// Does it hold a place until a deadline?
    pub fn is_slow(&self) -> bool {
        matches!(self.sent, Sent::Stalled(_) | Sent::Trickled(_))
    }

    /// Does it keep a small processor busy until a deadline?
    pub fn is_costly(&self) -> bool {
        self.name == COSTLY
    }
}

/// The name of the robots.txt that takes the most work.
const COSTLY: &str = "robots.txt made to be slow";

/// Where a host of the list leads on into the trap.
pub const HOP: &str = "/hop";
/// A path for which rules can be made that take long to be compared with it.
pub const LONG_PATH: &str = "/yes?aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\
    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\
    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

fn page(head: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{head}\r\n{body}").into_bytes()
}

/// Answers to a request for a page. `own` and `trap` are ports of this computer: of the server
/// itself, and of one that nobody may be led to.
pub fn answers(own: u16, trap: u16) -> Vec<Hostile> {
    let mut all = Vec::new();
    let mut add = |name: &str, sent: Sent| {
        all.push(Hostile {
            name: name.to_owned(),
            sent,
        });
    };
    status_lines(&mut add);
    lengths(&mut add);
    chunks(&mut add);
    headers(&mut add);
    statuses(&mut add);
    redirects(&mut add, own, trap);
    times(&mut add);
    bodies(&mut add);
    connections(&mut add);
    all
}

type Add<'a> = dyn FnMut(&str, Sent) + 'a;

fn status_lines(add: &mut Add<'_>) {
    let long = format!("HTTP/1.1 200 {}\r\n\r\n", "x".repeat(20_000));
    let lines = [
        "",
        "\r\n",
        "\n\n\n\n",
        "\0\0\0\0\0\0\0\0",
        "HTTP",
        "HTTP/1.1",
        "HTTP/1.1 \r\n\r\n",
        "HTTP/1.1 20\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 2O0 OK\r\n\r\n",
        "HTTP/1.1 -200 OK\r\n\r\n",
        "HTTP/1.1 000 Zero\r\n\r\n",
        "HTTP/1.1 099 Low\r\n\r\n",
        "HTTP/9.9 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        "HTTP/2.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        "http/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        "ICY 200 OK\r\n\r\n",
        "SSH-2.0-OpenSSH_9.6\r\n",
        "220 mail.example ESMTP\r\n",
        "<html><body>no head at all</body></html>",
        " HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1\t200\tOK\r\n\r\n",
        "HTTP/1.1 200 OK\r\rContent-Length: 2\r\r\r\rhi",
        "\u{16}\u{3}\u{1}\u{2}\0",
        &long,
    ];
    for (number, line) in lines.into_iter().enumerate() {
        add(
            &format!("status line {number}"),
            Sent::Bytes(line.as_bytes().to_vec()),
        );
    }
}

fn lengths(add: &mut Add<'_>) {
    let values = [
        "-1",
        "+5",
        "0x5",
        "5 5",
        "5,5",
        "5,6",
        "",
        " ",
        "five",
        "5.0",
        "1e3",
        "4294967296",
        "9223372036854775807",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999999999999999",
        "0005",
        "4",
        "6",
    ];
    for value in values {
        let head = format!("Content-Length: {value}\r\n");
        add(
            &format!("length {value:?}"),
            Sent::Bytes(page(&head, "hello")),
        );
    }
    let twice = "Content-Length: 5\r\nContent-Length: 6\r\n";
    add("two lengths", Sent::Bytes(page(twice, "hello!")));
    let both = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n";
    add(
        "length and chunks",
        Sent::Kept(page(both, "0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")),
    );
}

fn chunks(add: &mut Add<'_>) {
    let extension = format!("5;{}\r\nhello\r\n0\r\n\r\n", "a=b;".repeat(5_000));
    let trailers = format!("0\r\n{}\r\n", "A: b\r\n".repeat(5_000));
    let bodies = [
        "g\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "ffffffffffffffff\r\nhello",
        "10000000000000000\r\nhello",
        "fffffffffffffffffffffffffffffffff\r\n",
        "5\r\nhello",
        "5\r\nhello0\r\n\r\n",
        "5\nhello\n0\n\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n",
        "5\r\nhello\r\n\r\n\r\n",
        "\r\n\r\n",
        "0\r\n",
        "00000000000000000000000000000000000000005\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\nContent-Length: 99\r\n\r\n",
        &extension,
        &trailers,
    ];
    for (number, body) in bodies.into_iter().enumerate() {
        let bytes = page("Transfer-Encoding: chunked\r\n", body);
        add(&format!("chunks {number}"), Sent::Bytes(bytes));
    }
    for coding in [
        "gzip, chunked",
        "chunked, chunked",
        "identity",
        "chunked, gzip",
        "x",
    ] {
        let head = format!("Transfer-Encoding: {coding}\r\n");
        let bytes = page(&head, "5\r\nhello\r\n0\r\n\r\n");
        add(&format!("coding {coding}"), Sent::Bytes(bytes));
    }
}

fn headers(add: &mut Add<'_>) {
    let wide = format!("X: {}\r\n", "y".repeat(70_000));
    let many = "X: y\r\n".repeat(20_000);
    let tag = format!("ETag: \"{}\"\r\n", "e".repeat(9_000));
    let heads = [
        "no colon\r\n",
        ": no name\r\n",
        "Content-Length : 5\r\n",
        " Content-Length: 5\r\n",
        "X: a\r\n b\r\n\tc\r\n",
        "X: a\0b\r\n",
        "X: \u{7f}\u{1b}[2J\r\n",
        "X\u{e9}: \u{e9}\r\n",
        "X: a\rContent-Length: 0\r\n",
        "X: a\nContent-Length: 0\n",
        "ETag: \r\n",
        "ETag: \"\r\n",
        "ETag: \"a\"b\"\r\n",
        "ETag: W/\"\u{1}\"\r\n",
        "Content-Encoding: gzip\r\n",
        "Content-Encoding: gzip, br, zstd\r\n",
        "Connection: keep-alive, close, upgrade\r\n",
        "Cache-Control: max-age=99999999999999999999\r\n",
        "Cache-Control: max-age=-1, ,,,=\r\n",
        "Set-Cookie: a=b; Domain=.test\r\n",
        "Link: <http://127.0.0.1/>; rel=preload\r\n",
        "Refresh: 0; url=http://127.0.0.1/\r\n",
        &wide,
        &many,
        &tag,
    ];
    for (number, head) in heads.into_iter().enumerate() {
        let head = format!("{head}Content-Length: 5\r\n");
        add(
            &format!("header {number}"),
            Sent::Bytes(page(&head, "hello")),
        );
    }
}

fn statuses(add: &mut Add<'_>) {
    let codes = [
        101, 199, 203, 204, 205, 206, 226, 300, 304, 305, 306, 400, 401, 402, 403, 404, 405, 407,
        408, 410, 413, 418, 421, 425, 431, 451, 500, 501, 502, 504, 505, 507, 511, 599, 600, 999,
    ];
    for code in codes {
        let bytes = format!("HTTP/1.1 {code} Odd\r\nContent-Length: 5\r\n\r\nhello");
        add(&format!("status {code}"), Sent::Bytes(bytes.into_bytes()));
    }
    let interim = b"HTTP/1.1 100 Continue\r\n\r\n".to_vec();
    add(
        "interim for ever",
        Sent::Endless(Vec::new(), interim, 10_000),
    );
    let upgrade = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n\0\0\0\u{4}";
    add("upgrade", Sent::Bytes(upgrade.as_bytes().to_vec()));
}

/// Where redirects lead: to a server of this computer, by every spelling of its address, and to
/// what is no place at all.
fn redirects(add: &mut Add<'_>, own: u16, trap: u16) {
    let private = [
        "http://127.0.0.1:{}/",
        "http://127.0.0.1:{}/robots.txt",
        "http://127.1:{}/",
        "http://127.0.1:{}/",
        "http://2130706433:{}/",
        "http://0x7f000001:{}/",
        "http://0x7f.0.0.1:{}/",
        "http://0177.0.0.1:{}/",
        "http://127.000.000.001:{}/",
        "http://0.0.0.0:{}/",
        "http://0:{}/",
        "http://[::1]:{}/",
        "http://[::]:{}/",
        "http://[::ffff:127.0.0.1]:{}/",
        "http://[::ffff:7f00:1]:{}/",
        "http://[0:0:0:0:0:0:0:1]:{}/",
        "http://[64:ff9b::127.0.0.1]:{}/",
        "http://10.0.2.2:{}/",
        "http://10.0.2.9:{}/",
        "http://169.254.169.254:{}/",
        "http://localhost:{}/",
        "http://LOCALHOST.:{}/",
        "http://127.0.0.1.:{}/",
        "https://127.0.0.1:{}/",
        "//127.0.0.1:{}/",
        "\\\\127.0.0.1:{}/",
        "/\\127.0.0.1:{}/",
        "http:\\\\127.0.0.1:{}/",
        "http://user:password@127.0.0.1:{}/",
        "http://public.test@127.0.0.1:{}/",
        "http://127.0.0.1:{}#@public.test/",
        "http://127.0.0.1:{}?@public.test/",
        "http://127.0.0.1%00:{}/",
        "http://127.0.0.1%2e:{}/",
        "http://\t127.0.0.1:{}/",
    ];
    for target in private {
        let target = target.replace("{}", &trap.to_string());
        redirect(add, 302, &target);
    }
    for number in 0..LIES.len() {
        redirect(add, 302, &format!("http://d{number}.test:{trap}/"));
    }
    let long = format!("/{}", "a/../".repeat(4_000));
    let hop = format!("http://elsewhere.test:{own}/");
    // By way of a host of the list, whose address the owner named, into the trap.
    let two_hops = format!("http://good0.test:{own}{HOP}");
    // An honest host of the list, spelled otherwise: the same gate all the same.
    let honest = format!("http://GOOD0.test.:{own}/a");
    let elsewhere = [
        "",
        "/",
        "?",
        "#",
        ".",
        "..",
        "../../../../../etc/passwd",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ftp://public.test/",
        "data:text/html,hello",
        "gopher://127.0.0.1/",
        "http://",
        "http:///",
        "http://:80/",
        "http://public.test:0/",
        "http://public.test:65536/",
        "http://public.test:-1/",
        "http://[/",
        "http://[::1/",
        "http://..../",
        "http://-/",
        "http://a b/",
        "http://\u{e9}.test/",
        &long,
        &hop,
        &two_hops,
        &honest,
    ];
    for target in elsewhere {
        redirect(add, 301, target);
    }
    // To https of honest hosts that have none, and are not to blame for it.
    for number in 0..8 {
        redirect(add, 302, &format!("https://good{number}.test:{own}/a"));
    }
    let two = format!("Location: /a\r\nLocation: http://127.0.0.1:{trap}/\r\n");
    let bytes = format!("HTTP/1.1 302 Found\r\n{two}Content-Length: 0\r\n\r\n");
    add("two locations", Sent::Bytes(bytes.into_bytes()));
    add(
        "no location",
        Sent::Bytes(b"HTTP/1.1 307 Temporary Redirect\r\n\r\n".to_vec()),
    );
}

fn redirect(add: &mut Add<'_>, status: u16, target: &str) {
    let bytes =
        format!("HTTP/1.1 {status} Moved\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n");
    let shown: String = target.chars().take(40).collect();
    add(
        &format!("redirect to {shown:?}"),
        Sent::Bytes(bytes.into_bytes()),
    );
}

fn times(add: &mut Add<'_>) {
    let waits = [
        "0",
        "-1",
        "4294967295",
        "99999999999999999999",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "soon",
        "",
    ];
    for (status, wait) in [429, 503]
        .into_iter()
        .flat_map(|code| waits.map(|wait| (code, wait)))
    {
        let head = format!("Retry-After: {wait}\r\nContent-Length: 0\r\n");
        let bytes = format!("HTTP/1.1 {status} Later\r\n{head}\r\n");
        add(
            &format!("{status} after {wait:?}"),
            Sent::Bytes(bytes.into_bytes()),
        );
    }
    let dates = [
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Thu, 01 Jan 1970 00:00:00 GMT",
        "Sun, 30 Feb 2025 00:00:00 GMT",
        "Sun, 06 Nov 1994 99:99:99 GMT",
        "Sunday",
        "\u{1}",
    ];
    for (name, date) in ["Date", "Last-Modified"]
        .into_iter()
        .flat_map(|name| dates.map(|date| (name, date)))
    {
        let head = format!("{name}: {date}\r\nContent-Length: 5\r\n");
        add(
            &format!("{name} {date:?}"),
            Sent::Bytes(page(&head, "hello")),
        );
    }
}

fn bodies(add: &mut Add<'_>) {
    let megabytes = |count: usize| vec![b'x'; count << 20];
    let mut large = page("Content-Length: 2097152\r\n", "");
    large.extend(megabytes(2));
    add("two megabytes", Sent::Bytes(large));
    let head = page("Content-Length: 99999999999\r\n", "");
    add("a long body", Sent::Endless(head, megabytes(1), 8));
    let head = page("Transfer-Encoding: chunked\r\n", "");
    add(
        "tiny chunks",
        Sent::Endless(head, b"1\r\nx\r\n".to_vec(), 100_000),
    );
    let head = page("", "");
    add(
        "a body without an end",
        Sent::Endless(head, megabytes(1), 8),
    );
    let mut zeros = page("Content-Length: 65536\r\n", "");
    zeros.extend(vec![0; 65_536]);
    add("zeros", Sent::Bytes(zeros));
    let mut packed = page("Content-Encoding: gzip\r\nContent-Length: 20\r\n", "");
    packed.extend([
        0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0,
    ]);
    add("packed nonsense", Sent::Bytes(packed));
}

fn connections(add: &mut Add<'_>) {
    add(
        "a cut head",
        Sent::Bytes(b"HTTP/1.1 200 OK\r\nContent-Le".to_vec()),
    );
    let cut = page("Content-Length: 500\r\n", "hello");
    add("a cut body", Sent::Bytes(cut));
    let split = page(
        "Content-Length: 5\r\n",
        "helloHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged",
    );
    add("two answers to one request", Sent::Kept(split));
    let twice = page("Content-Length: 5\r\n", "hello").repeat(2);
    add("an answer too many", Sent::Kept(twice));
    add("silence", Sent::Stalled(Vec::new()));
    add(
        "half a head",
        Sent::Stalled(b"HTTP/1.1 200 OK\r\nX: ".to_vec()),
    );
    let half = page("Content-Length: 500\r\n", "half");
    add("half a body", Sent::Stalled(half));
    let slow = page("Content-Length: 5000\r\n", &"slow".repeat(1_250));
    add("a trickle", Sent::Trickled(slow));
}

/// Answers to a request for robots.txt. None of them allows `/no`.
pub fn robots(trap: u16) -> Vec<Hostile> {
    let file = |text: &str| {
        let length = text.len();
        format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{text}").into_bytes()
    };
    let forbidden = "User-agent: *\nDisallow: /no\n";
    let stars = format!("{forbidden}Disallow: /{}b\n", "*a".repeat(100));
    let many = format!("{forbidden}{}", "Disallow: /x*y*z\n".repeat(20_000));
    let wide = format!("{forbidden}Disallow: /{}\n", "a".repeat(70_000));
    let texts = [
        forbidden.to_owned(),
        format!("\u{feff}{forbidden}"),
        forbidden.replace('\n', "\r"),
        forbidden.replace('\n', "\r\n"),
        format!("\0\0\0\n{forbidden}"),
        format!("<html>\n{forbidden}</html>\n"),
        format!("{forbidden}Crawl-delay: 99999999999999999999\n"),
        format!("{forbidden}Crawl-delay: -5\n"),
        format!("{forbidden}Crawl-delay: NaN\n"),
        format!("{forbidden}Allow: /no$x\nAllow: *\0no\n"),
        format!("{}{forbidden}", "# comment\n".repeat(10_000)),
        stars,
        many,
        wide,
    ];
    let mut all: Vec<Hostile> = texts
        .iter()
        .enumerate()
        .map(|(number, text)| Hostile {
            name: format!("robots.txt {number}"),
            sent: Sent::Bytes(file(text)),
        })
        .collect();
    let mut add = |name: &str, bytes: String| {
        all.push(Hostile {
            name: name.to_owned(),
            sent: Sent::Bytes(bytes.into_bytes()),
        });
    };
    // Each rule takes 3,000 steps for the long path, which is just not too many; all of them take
    // half of what a file may.
    let rule = format!("Disallow: /*{}b\n", "a".repeat(18));
    let rules = rule.repeat(500_000 / rule.len());
    let costly = file(&format!("{forbidden}{rules}"));
    add(COSTLY, String::from_utf8_lossy(&costly).into_owned());
    // Who answers 401 or 403 has no robots.txt (RFC 9309, 2.3.1.3), and allows everything.
    for code in [429, 500, 503, 599] {
        let bytes = format!("HTTP/1.1 {code} No\r\nContent-Length: 0\r\n\r\n");
        add(&format!("robots.txt {code}"), bytes);
    }
    for host in [
        "127.0.0.1",
        "[::1]",
        "localhost",
        "0.0.0.0",
        "10.0.2.2",
        "d0.test",
        "d2.test",
    ] {
        let head = format!("Location: http://{host}:{trap}/robots.txt\r\nContent-Length: 0\r\n");
        add(
            &format!("robots.txt at {host}"),
            format!("HTTP/1.1 302 Found\r\n{head}\r\n"),
        );
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_many_and_each_is_another() {
        let mut all = answers(1, 2);
        all.extend(robots(2));
        assert!(all.len() >= 150, "{}", all.len());
        for (place, one) in all.iter().enumerate() {
            let same = all[..place]
                .iter()
                .find(|other| other.sent == one.sent || other.name == one.name);
            assert!(
                same.is_none(),
                "{} is {:?}",
                one.name,
                same.map(|same| &same.name)
            );
        }
    }
}
