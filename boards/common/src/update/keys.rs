//! Whose signatures count. The keys are put into the image when it is built for a device (`cargo
//! xtask release`, `qemu`, `flash`): a firmware without any trusts nobody.

use dunlin::update::{KEY_BYTES, PayloadKind, PublicKey};

/// Two of each kind: one in use, and one to go on with should the first be lost.
const OF_EACH: usize = 2;

/// Firmware keys, then list keys, as key files hold them; zeros until they are put in.
// SAFETY: no other symbol has this name, by which the commands on a computer find it.
#[unsafe(no_mangle)]
#[used]
static DUNLIN_UPDATE_KEYS: [[u8; KEY_BYTES]; 2 * OF_EACH] = [[0; KEY_BYTES]; 2 * OF_EACH];

/// The keys for this kind. With one of them, it is there twice.
pub fn keys(kind: PayloadKind) -> Option<[PublicKey; OF_EACH]> {
    let first = match kind {
        PayloadKind::Firmware => 0,
        PayloadKind::List => OF_EACH,
    };
    let [one, other] = [key(first), key(first + 1)];
    let found = one.or(other)?;
    Some([found, other.unwrap_or(found)])
}

/// The key at this place.
#[inline(never)] // Once for all places.
fn key(index: usize) -> Option<PublicKey> {
    let mut bytes = [0; KEY_BYTES];
    for (to, from) in bytes.iter_mut().zip(DUNLIN_UPDATE_KEYS.get(index)?) {
        // SAFETY: a reference to a byte of our own. Volatile: what the compiler sees is not what is
        // in flash.
        *to = unsafe { core::ptr::from_ref(from).read_volatile() };
    }
    PublicKey::from_bytes(&bytes)
}
