//! URLs as texts of their own: where redirects lead, and wherever else a URL outlives its answer.

use crate::fetch::Url;

/// The longest redirect target that is followed.
pub(in crate::probe) const LONGEST_TARGET: usize = 256;
/// The text of a redirect's target.
pub(in crate::probe) type RedirectTarget = heapless::String<LONGEST_TARGET>;

/// A URL as text of its own; `None` if it is too long.
pub(in crate::probe) fn spell(url: &Url<'_>) -> Option<RedirectTarget> {
    let mut text = RedirectTarget::new();
    let mut fits = true;
    // Piece by piece: through `Display` it would take 300 bytes of flash more.
    let mut put = |bytes: &[u8]| {
        let piece = core::str::from_utf8(bytes).unwrap_or("\u{fffd}");
        fits &= text.push_str(piece).is_ok();
    };
    put(url.scheme().name().as_bytes());
    put(b"://");
    url.authority_pieces(&mut put);
    url.target_pieces(&mut put);
    fits.then_some(text)
}
