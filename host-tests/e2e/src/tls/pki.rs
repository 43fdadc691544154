//! A public key infrastructure of the tests' own, made anew for each run: nothing of it can expire
//! in the repository.

use std::time::{Duration, SystemTime};

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CustomExtension, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, KeyPair, KeyUsagePurpose,
    NameConstraints, PKCS_ECDSA_P384_SHA384, PublicKeyData as _,
};
use ring::digest;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate authority that is made for a test.
pub struct Authority(pub CertifiedIssuer<'static, KeyPair>);

/// What a server shows, and the key to it.
pub struct Identity {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
    /// SHA-256 of its public key.
    pub pin: [u8; 32],
}

impl Identity {
    fn new(chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> Self {
        let public = digest::digest(&digest::SHA256, &key.subject_public_key_info());
        let mut pin = [0; 32];
        pin.copy_from_slice(public.as_ref());
        Self {
            chain,
            key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
            pin,
        }
    }
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self {
            chain: self.chain.clone(),
            key: self.key.clone_key(),
            pin: self.pin,
        }
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut full = DistinguishedName::new();
    full.push(DnType::CommonName, name);
    full
}

fn authority_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = named(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    valid(&mut params, -100, 100);
    params
}

/// From so many days from now to so many.
fn valid(params: &mut CertificateParams, from: i64, to: i64) {
    let at = |days: i64| {
        let now = SystemTime::now();
        let span = Duration::from_secs(days.unsigned_abs() * 86_400);
        if days < 0 { now - span } else { now + span }
    };
    params.not_before = at(from).into();
    params.not_after = at(to).into();
}

/// A certificate for these names, before it is signed.
pub fn leaf(names: &[&str]) -> Result<CertificateParams> {
    let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = named("server");
    valid(&mut params, -1, 30);
    Ok(params)
}

impl Authority {
    /// One that vouches for itself.
    pub fn root(name: &str) -> Result<Self> {
        let key = KeyPair::generate()?;
        Ok(Self(CertifiedIssuer::self_signed(
            authority_params(name),
            key,
        )?))
    }

    /// One that this one vouches for, by this name.
    pub fn intermediate(&self, name: &str) -> Result<Self> {
        self.below(authority_params(name))
    }

    fn below(&self, params: CertificateParams) -> Result<Self> {
        let key = KeyPair::generate()?;
        Ok(Self(CertifiedIssuer::signed_by(params, key, &self.0)?))
    }

    pub fn pem(&self) -> String {
        self.0.pem()
    }

    fn der(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    /// Vouches for a server, by the chain that leads here.
    pub fn sign(&self, params: &CertificateParams, above: &[&Self]) -> Result<Identity> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.0)?;
        let mut chain = vec![certificate.der().clone()];
        chain.extend(above.iter().map(|authority| authority.der()));
        Ok(Identity::new(chain, &key))
    }
}

/// What has to become of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its page is fetched.
    Fetched,
    /// It is refused for this reason, as the log writes it.
    Refused(&'static str),
}

/// A server of a list, by the name that it is asked for.
pub struct Case {
    pub host: &'static str,
    pub identity: Identity,
    pub fate: Fate,
}

/// Four authorities with the trusted one's name: each may stand above each other one.
pub fn maze() -> Result<Case> {
    let namesakes: Vec<Authority> = (0..4)
        .map(|_| Authority::root(ROOT))
        .collect::<Result<_>>()?;
    let above: Vec<&Authority> = namesakes.iter().collect();
    Ok(Case {
        host: "maze.test",
        identity: namesakes[3].sign(&leaf(&["maze.test"])?, &above)?,
        fate: Fate::Refused("Certificate"),
    })
}

/// Certificates right and wrong, each at a host of its own.
pub fn cases(root: &Authority) -> Result<Vec<Case>> {
    use Fate::{Fetched, Refused};
    let mut cases = Vec::new();
    let mut case = |host, identity, fate| {
        cases.push(Case {
            host,
            identity,
            fate,
        })
    };
    let simple = |host: &str| root.sign(&leaf(&[host])?, &[]);
    case("good.test", simple("good.test")?, Fetched);
    let mut params = leaf(&["expired.test"])?;
    valid(&mut params, -30, -1);
    case("expired.test", root.sign(&params, &[])?, Refused("Expired"));
    let mut params = leaf(&["early.test"])?;
    valid(&mut params, 2, 30);
    case(
        "early.test",
        root.sign(&params, &[])?,
        Refused("NotYetValid"),
    );
    case("other.test", simple("another.test")?, Refused("Name"));
    let mut params = leaf(&[])?;
    params.distinguished_name = named("cn.test");
    case("cn.test", root.sign(&params, &[])?, Refused("Name"));
    let key = KeyPair::generate()?;
    let alone = leaf(&["alone.test"])?.self_signed(&key)?;
    let alone = Identity::new(vec![alone.der().clone()], &key);
    case("alone.test", alone, Refused("Issuer"));
    // As `openssl req -x509` makes them.
    let mut params = leaf(&["own.test"])?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let itself = Identity::new(vec![params.self_signed(&key)?.der().clone()], &key);
    case("own.test", itself, Refused("Issuer"));
    let stranger = Authority::root("a stranger")?;
    let strange = stranger.sign(&leaf(&["strange.test"])?, &[&stranger])?;
    case("strange.test", strange, Refused("Issuer"));
    let namesake = Authority::root(ROOT)?;
    let false_root = namesake.sign(&leaf(&["false.test"])?, &[])?;
    case("false.test", false_root, Refused("Certificate"));
    let middle = root.below(authority_params("middle"))?;
    let missing = middle.sign(&leaf(&["missing.test"])?, &[])?;
    case("missing.test", missing, Refused("Issuer"));
    let linked = middle.sign(&leaf(&["linked.test"])?, &[&middle])?;
    case("linked.test", linked, Fetched);
    // The curve whose checks take the most stack.
    let key = KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384)?;
    let params = authority_params("P-384");
    let wider = Authority(CertifiedIssuer::signed_by(params, key, &root.0)?);
    let wide = wider.sign(&leaf(&["p384.test"])?, &[&wider])?;
    case("p384.test", wide, Fetched);
    let mut bad = simple("bad.test")?;
    let mut der = bad.chain[0].to_vec();
    let last = der.len() - 1;
    der[last] ^= 1;
    bad.chain[0] = der.into();
    case("bad.test", bad, Refused("Certificate"));
    let mut params = authority_params("no authority");
    params.is_ca = IsCa::ExplicitNoCa;
    let no_authority = root.below(params)?;
    let by_leaf = no_authority.sign(&leaf(&["byleaf.test"])?, &[&no_authority])?;
    case("byleaf.test", by_leaf, Refused("Certificate"));
    let mut params = authority_params("short");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let short = root.below(params)?;
    let below = short.below(authority_params("too deep"))?;
    let deep = below.sign(&leaf(&["deep.test"])?, &[&below, &short])?;
    case("deep.test", deep, Refused("Certificate"));
    let mut params = authority_params("constrained");
    params.name_constraints = Some(NameConstraints {
        permitted_subtrees: vec![GeneralSubtree::DnsName("inside.test".into())],
        excluded_subtrees: Vec::new(),
    });
    let constrained = root.below(params)?;
    let outside = constrained.sign(&leaf(&["outside.test"])?, &[&constrained])?;
    case("outside.test", outside, Refused("Certificate"));
    let mut params = leaf(&["client.test"])?;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    case(
        "client.test",
        root.sign(&params, &[])?,
        Refused("Certificate"),
    );
    case("top.test", simple("*.test")?, Refused("Name"));
    case("gap.test", simple("g*.test")?, Refused("Name"));
    case("one.wild.test", simple("*.wild.test")?, Fetched);
    case("one.two.wide.test", simple("*.wide.test")?, Refused("Name"));
    case("long.test", fat(root, "long.test", 12_500)?, Fetched);
    case(
        "toolong.test",
        fat(root, "toolong.test", 13_400)?,
        Refused("Protocol"),
    );
    let mut many = simple("many.test")?;
    many.chain.extend(vec![middle.der(); 5]);
    case("many.test", many, Refused("Protocol"));
    Ok(cases)
}

/// Servers whose keys are pinned, and whom nobody vouches for that the probe trusts; and one that
/// is vouched for but has another key. The pin of each comes with it.
pub fn pinned(root: &Authority) -> Result<Vec<(Case, [u8; 32])>> {
    use Fate::{Fetched, Refused};
    let stranger = Authority::root("a stranger")?;
    let mut cases = Vec::new();
    let mut case = |host, identity: Identity, pin, fate| {
        let case = Case {
            host,
            identity,
            fate,
        };
        cases.push((case, pin));
    };
    let right = stranger.sign(&leaf(&["pinned.test"])?, &[])?;
    let pin = right.pin;
    case("pinned.test", right, pin, Fetched);
    let wrong = stranger.sign(&leaf(&["wrongpin.test"])?, &[])?;
    case("wrongpin.test", wrong, pin, Refused("Pin"));
    let vouched = root.sign(&leaf(&["vouched.test"])?, &[])?;
    case("vouched.test", vouched, pin, Refused("Pin"));
    let mut params = leaf(&["oldpin.test"])?;
    valid(&mut params, -30, -1);
    let old = stranger.sign(&params, &[])?;
    let pin = old.pin;
    case("oldpin.test", old, pin, Refused("Expired"));
    let other = stranger.sign(&leaf(&["another.test"])?, &[])?;
    let pin = other.pin;
    case("otherpin.test", other, pin, Refused("Name"));
    Ok(cases)
}

/// A chain with so many bytes that nobody needs.
pub fn fat(root: &Authority, host: &str, bytes: usize) -> Result<Identity> {
    let mut params = leaf(&[host])?;
    let note = CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 99_999, 1], vec![0; bytes]);
    params.custom_extensions.push(note);
    root.sign(&params, &[])
}

/// The name of the authority that the probe trusts.
pub const ROOT: &str = "dunlin's tests";
