#![no_std]
#![no_main]
//! The scheduler beside an HTTP client that the firmware has already: reqwless on embassy-net. The
//! scheduler says which page and when; asking, and comparing what came, is the firmware's.
//!
//! dunlin's own fetcher does more (conditional requests, robots.txt, redirects, bodies of any
//! length): see boards/examples/embassy-net.

use dunlin::scheduler::{Decision, Outcome, PageSettings, Scheduler, Settings};
use dunlin::time::{Duration, Instant};
use embassy_net::dns::DnsSocket;
use embassy_net::tcp::client::{TcpClient, TcpClientState};
use embassy_net::{Config, Runner, Stack, StackResources};
use embassy_time::{Timer, with_timeout};
use qemu_mps2::ethernet::{self, Ethernet};
use reqwless::client::HttpClient;
use reqwless::request::Method;
use static_cell::{ConstStaticCell, StaticCell};

/// The pages, by the scheduler's numbers.
const URLS: [&str; 2] = ["http://10.0.2.2:8000/", "http://10.0.2.2:8000/news"];

/// The longest head and body that reqwless can hold here.
const LONGEST: usize = 4096;
/// A fetch takes no longer than this.
const DEADLINE: embassy_time::Duration = embassy_time::Duration::from_secs(30);

static SCHEDULER: ConstStaticCell<Scheduler<64, 8>> =
    ConstStaticCell::new(Scheduler::new(Settings::DEFAULT));
static BUFFER: ConstStaticCell<[u8; LONGEST]> = ConstStaticCell::new([0; LONGEST]);
static CONNECTION: ConstStaticCell<TcpClientState<1, 1024, 2048>> =
    ConstStaticCell::new(TcpClientState::new());
// The client's, DNS, DHCP, and one to spare.
static SOCKETS: StaticCell<StackResources<4>> = StaticCell::new();

fn now() -> Instant {
    Instant::from_micros(embassy_time::Instant::now().as_micros())
}

/// A hash of a body (FNV-1a): enough to see that it is another one.
fn hash(body: &[u8]) -> u64 {
    body.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Fetches a page; what the scheduler has to know of it.
///
/// *Cancellation*: the connection is lost; the page is to be recorded as failed.
async fn fetch(
    client: &mut HttpClient<'_, TcpClient<'_, 1, 1024, 2048>, DnsSocket<'_>>,
    url: &str,
    known: &mut Option<u64>,
    buffer: &mut [u8],
) -> Outcome {
    let asked = async {
        let mut request = client.request(Method::GET, url).await?;
        let response = request.send(buffer).await?;
        let status = response.status.0;
        let body = response.body().read_to_end().await?;
        Ok::<_, reqwless::Error>((status, hash(body)))
    };
    match with_timeout(DEADLINE, asked).await {
        Ok(Ok((200, hash))) if known.replace(hash) == Some(hash) => Outcome::Unchanged,
        Ok(Ok((200, _))) => Outcome::Changed { modified_ago: None },
        Ok(Ok((404 | 410, _))) => Outcome::Gone,
        Ok(Ok((429 | 503, _))) => Outcome::Refused { retry_after: None },
        _ => Outcome::Failed,
    }
}

#[embassy_executor::task]
async fn network(mut runner: Runner<'static, Ethernet>) {
    runner.run().await
}

#[embassy_executor::task]
async fn crawl(stack: Stack<'static>) {
    let scheduler = SCHEDULER.take();
    // Visits a day, over all pages: without a budget each is asked for as often as its host's gap
    // allows.
    let budget = scheduler.set_budget(Some(24.0 * URLS.len() as f32), now());
    budget.expect("a number above 0");
    let host = scheduler.add_host(Duration::from_secs(15)).expect("room");
    for _ in URLS {
        let page = scheduler.add_page(host, &PageSettings::DEFAULT, now());
        page.expect("room");
    }
    let buffer = BUFFER.take();
    let tcp = TcpClient::new(stack, CONNECTION.take());
    let dns = DnsSocket::new(stack);
    let mut client = HttpClient::new(&tcp, &dns);
    let mut known = [None; URLS.len()];
    stack.wait_config_up().await;
    loop {
        match scheduler.next(now()) {
            Decision::Fetch(page) => {
                let place = page.index();
                let (Some(url), Some(known)) = (URLS.get(place), known.get_mut(place)) else {
                    continue;
                };
                let outcome = fetch(&mut client, url, known, buffer).await;
                defmt::info!("{=str}: {}", url, outcome);
                // What `next` asked for is recorded once.
                let _ = scheduler.record(page, outcome, now());
            }
            Decision::WaitUntil(then) => {
                Timer::at(embassy_time::Instant::from_micros(then.as_micros())).await
            }
            Decision::Idle => return,
        }
    }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    qemu_mps2::boot("the scheduler beside reqwless");
    let driver = ethernet::start([2, 0, 0, 0, 0, 1]).expect("your network driver");
    let resources = SOCKETS.init(StackResources::new());
    let (stack, runner) =
        embassy_net::new(driver, Config::dhcpv4(Default::default()), resources, 42);
    dunlin_board::executor::run(|spawner| {
        spawner.spawn(network(runner).expect("once"));
        spawner.spawn(crawl(stack).expect("once"));
    })
}
