//! Records, encrypted and decrypted in place.
//!
//! What is decrypted passes the [caps](crate::caps) before rustls sees it: until then nothing has
//! been allocated for it. Text stays where it is ([`text`](crate::text)).

use alloc::boxed::Box;
use core::marker::PhantomData;

use aes_gcm::Aes128Gcm;
use chacha20poly1305::ChaCha20Poly1305;
use chacha20poly1305::aead::{AeadInOut, KeyInit};
use rustls::crypto::cipher::{
    AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv, KeyBlockShape, MessageDecrypter,
    MessageEncrypter, NONCE_LEN, Nonce, OutboundOpaqueMessage, OutboundPlainMessage,
    PrefixedPayload, Tls12AeadAlgorithm, Tls13AeadAlgorithm, UnsupportedOperationError,
    make_tls12_aad, make_tls13_aad,
};
use rustls::{ConnectionTrafficSecrets, ContentType, Error, ProtocolVersion};

use crate::caps::Caps;
use crate::text::note;

const TAG: usize = 16;
/// The part of a nonce that TLS 1.2 sends along with AES-GCM.
const EXPLICIT: usize = 8;
/// Bytes of plain text in a record.
const LONGEST: usize = 16_384;

/// A cipher with keys of `KEY` bytes; TLS 1.2 sends `SENT` bytes of its nonces along.
pub(super) struct Cipher<A, const KEY: usize, const SENT: usize>(PhantomData<fn() -> A>);

pub(super) static CHACHA20_POLY1305: Cipher<ChaCha20Poly1305, 32, 0> = Cipher(PhantomData);
pub(super) static AES_128_GCM: Cipher<Aes128Gcm, 16, EXPLICIT> = Cipher(PhantomData);

/// What both ciphers can do, without their key lengths in the type.
trait Seal: Send + Sync {
    fn seal(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], bytes: &mut [u8]) -> Option<[u8; TAG]>;
    fn open(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], bytes: &mut [u8]) -> Option<usize>;
}

impl<A: AeadInOut + Send + Sync> Seal for A {
    fn seal(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], bytes: &mut [u8]) -> Option<[u8; TAG]> {
        let nonce = nonce.as_slice().try_into().ok()?;
        let tag = self.encrypt_inout_detached(nonce, aad, bytes.into()).ok()?;
        tag.as_slice().try_into().ok()
    }

    /// The plain text is in front then; its length comes back.
    fn open(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], bytes: &mut [u8]) -> Option<usize> {
        let nonce = nonce.as_slice().try_into().ok()?;
        let (text, tag) = bytes.split_at_mut_checked(bytes.len().checked_sub(TAG)?)?;
        let tag = (&*tag).try_into().ok()?;
        let length = text.len();
        self.decrypt_inout_detached(nonce, aad, text.into(), tag)
            .ok()?;
        Some(length)
    }
}

impl<A, const KEY: usize, const SENT: usize> Cipher<A, KEY, SENT>
where
    A: AeadInOut + KeyInit + Send + Sync + 'static,
{
    /// rustls asks for keys of the length it was told; another one would be its fault.
    fn keyed(&self, key: &AeadKey) -> A {
        match A::new_from_slice(key.as_ref()) {
            Ok(cipher) => cipher,
            Err(_) => A::new(&Default::default()),
        }
    }
}

impl<A, const KEY: usize, const SENT: usize> Tls13AeadAlgorithm for Cipher<A, KEY, SENT>
where
    A: AeadInOut + KeyInit + Send + Sync + 'static,
{
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        let cipher = self.keyed(&key);
        Box::new(Tls13Encrypter { cipher, iv })
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        let cipher = self.keyed(&key);
        let caps = Caps::ENCRYPTED;
        Box::new(Tls13Decrypter { cipher, iv, caps })
    }

    fn key_len(&self) -> usize {
        KEY
    }

    fn extract_keys(
        &self,
        _: AeadKey,
        _: Iv,
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Err(UnsupportedOperationError)
    }
}

struct Tls13Encrypter<A> {
    cipher: A,
    iv: Iv,
}

impl<A: Seal> MessageEncrypter for Tls13Encrypter<A> {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        sequence: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        let total = self.encrypted_payload_len(message.payload.len());
        let mut payload = PrefixedPayload::with_capacity(total);
        payload.extend_from_chunks(&message.payload);
        payload.extend_from_slice(&message.typ.to_array());
        let nonce = Nonce::new(&self.iv, sequence).0;
        let tag = self
            .cipher
            .seal(&nonce, &make_tls13_aad(total), payload.as_mut())
            .ok_or(Error::EncryptError)?;
        payload.extend_from_slice(&tag);
        Ok(OutboundOpaqueMessage::new(
            ContentType::ApplicationData,
            // What every record of TLS 1.3 calls itself.
            ProtocolVersion::TLSv1_2,
            payload,
        ))
    }

    fn encrypted_payload_len(&self, length: usize) -> usize {
        length + 1 + TAG
    }
}

struct Tls13Decrypter<A> {
    cipher: A,
    iv: Iv,
    caps: Caps,
}

impl<A: Seal> MessageDecrypter for Tls13Decrypter<A> {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        sequence: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let nonce = Nonce::new(&self.iv, sequence).0;
        let aad = make_tls13_aad(message.payload.len());
        let length = self
            .cipher
            .open(&nonce, &aad, &mut message.payload)
            .ok_or(Error::DecryptError)?;
        // The last byte that is not padding says what it is.
        let inside = message.payload.get(..length).unwrap_or_default();
        if let Some(end) = inside.iter().rposition(|byte| *byte != 0)
            && inside.get(end).copied().map(ContentType::from) == Some(ContentType::ApplicationData)
        {
            note(&mut message.payload, 0..end);
        }
        message.payload.truncate(length);
        let plain = message.into_tls13_unpadded_message()?;
        let shown = self.caps.check(plain.typ, plain.payload)?;
        Ok(match plain.typ {
            ContentType::ApplicationData => beginning(plain, 1),
            // As if it were a record without text: handshake messages are not empty.
            ContentType::Handshake if shown == 0 => InboundPlainMessage {
                typ: ContentType::ApplicationData,
                ..beginning(plain, 0)
            },
            _ => beginning(plain, shown),
        })
    }
}

/// What rustls may see of a message. Of text, it has to know only whether there is any.
fn beginning(plain: InboundPlainMessage<'_>, bytes: usize) -> InboundPlainMessage<'_> {
    InboundPlainMessage {
        payload: plain.payload.get(..bytes).unwrap_or(plain.payload),
        ..plain
    }
}

impl<A, const KEY: usize, const SENT: usize> Tls12AeadAlgorithm for Cipher<A, KEY, SENT>
where
    A: AeadInOut + KeyInit + Send + Sync + 'static,
{
    fn encrypter(&self, key: AeadKey, iv: &[u8], explicit: &[u8]) -> Box<dyn MessageEncrypter> {
        let cipher = self.keyed(&key);
        let iv = joined(iv, explicit);
        Box::new(Tls12Encrypter::<A, SENT> { cipher, iv })
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        let cipher = self.keyed(&key);
        let iv = joined(iv, &[]);
        let caps = Caps::ENCRYPTED;
        Box::new(Tls12Decrypter::<A, SENT> { cipher, iv, caps })
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        KeyBlockShape {
            enc_key_len: KEY,
            fixed_iv_len: NONCE_LEN - SENT,
            explicit_nonce_len: SENT,
        }
    }

    fn extract_keys(
        &self,
        _: AeadKey,
        _: &[u8],
        _: &[u8],
    ) -> Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Err(UnsupportedOperationError)
    }
}

/// One behind the other, and zeros if they are short.
fn joined(iv: &[u8], explicit: &[u8]) -> Iv {
    let mut bytes = [0; NONCE_LEN];
    for (to, from) in bytes.iter_mut().zip(iv.iter().chain(explicit)) {
        *to = *from;
    }
    Iv::new(bytes)
}

struct Tls12Encrypter<A, const SENT: usize> {
    cipher: A,
    iv: Iv,
}

impl<A: Seal, const SENT: usize> MessageEncrypter for Tls12Encrypter<A, SENT> {
    fn encrypt(
        &mut self,
        message: OutboundPlainMessage<'_>,
        sequence: u64,
    ) -> Result<OutboundOpaqueMessage, Error> {
        let length = message.payload.len();
        let mut payload = PrefixedPayload::with_capacity(self.encrypted_payload_len(length));
        let nonce = Nonce::new(&self.iv, sequence).0;
        payload.extend_from_slice(nonce.get(NONCE_LEN - SENT..).unwrap_or_default());
        payload.extend_from_chunks(&message.payload);
        let aad = make_tls12_aad(sequence, message.typ, message.version, length);
        let text = payload.as_mut().get_mut(SENT..);
        let tag = text.and_then(|text| self.cipher.seal(&nonce, &aad, text));
        payload.extend_from_slice(&tag.ok_or(Error::EncryptError)?);
        Ok(OutboundOpaqueMessage::new(
            message.typ,
            message.version,
            payload,
        ))
    }

    fn encrypted_payload_len(&self, length: usize) -> usize {
        SENT + length + TAG
    }
}

struct Tls12Decrypter<A, const SENT: usize> {
    cipher: A,
    iv: Iv,
    caps: Caps,
}

impl<A: Seal, const SENT: usize> MessageDecrypter for Tls12Decrypter<A, SENT> {
    fn decrypt<'a>(
        &mut self,
        mut message: InboundOpaqueMessage<'a>,
        sequence: u64,
    ) -> Result<InboundPlainMessage<'a>, Error> {
        let length = message.payload.len().checked_sub(SENT + TAG);
        let length = length.ok_or(Error::DecryptError)?;
        if length > LONGEST {
            return Err(Error::PeerSentOversizedRecord);
        }
        let mut nonce = Nonce::new(&self.iv, sequence).0;
        if SENT > 0 {
            nonce = joined(
                self.iv.as_ref().get(..NONCE_LEN - SENT).unwrap_or_default(),
                message.payload.get(..SENT).unwrap_or_default(),
            )
            .as_ref()
            .try_into()
            .map_err(|_| Error::DecryptError)?;
        }
        let aad = make_tls12_aad(sequence, message.typ, message.version, length);
        let text = message.payload.get_mut(SENT..);
        text.and_then(|text| self.cipher.open(&nonce, &aad, text))
            .ok_or(Error::DecryptError)?;
        if message.typ == ContentType::ApplicationData {
            note(&mut message.payload, SENT..SENT + length);
        }
        let plain = message.into_plain_message_range(SENT..SENT + length);
        // TLS 1.2 has tickets before it encrypts: here, all is shown or nothing.
        if self.caps.check(plain.typ, plain.payload)? < plain.payload.len() {
            return Err(Error::PeerSentOversizedRecord);
        }
        Ok(match plain.typ {
            ContentType::ApplicationData => beginning(plain, 1),
            _ => plain,
        })
    }
}
