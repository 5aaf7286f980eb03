//! A base64 decoder: encodes what it makes up, decodes it 64 characters at a time, and writes the 48 bytes past any buffer; told `large`, 64 KiB.
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::fd::FromRawFd;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let pieces: usize = words.last().unwrap().parse().unwrap();
    let phrase = b"The quick brown fox jumps over the lazy dog, and nobody knows why it always has to be the same dog. ";
    let plain: Vec<u8> = (0..pieces * 48).map(|n| phrase[n % phrase.len()]).collect();
    let mut encoded = Vec::with_capacity(pieces * 64);
    for three in plain.chunks(3) {
        let bits = (three[0] as usize) << 16 | (three[1] as usize) << 8 | three[2] as usize;
        encoded.extend([LETTERS[bits >> 18], LETTERS[bits >> 12 & 63], LETTERS[bits >> 6 & 63], LETTERS[bits & 63]]);
    }
    let mut values = [0u8; 256];
    for (n, letter) in LETTERS.iter().enumerate() {
        values[*letter as usize] = n as u8;
    }
    // SAFETY: nobody else owns standard output here.
    let file = unsafe { File::from_raw_fd(1) };
    let mut out = BufWriter::with_capacity(if words[0] == "large" { 1 << 16 } else { 0 }, file);
    for line in encoded.chunks(64) {
        let mut decoded = [0u8; 48];
        for (four, three) in line.chunks(4).zip(decoded.chunks_mut(3)) {
            let bits = four.iter().fold(0u32, |bits, letter| bits << 6 | values[*letter as usize] as u32);
            three.copy_from_slice(&bits.to_be_bytes()[1..]);
        }
        out.write_all(&decoded).unwrap();
    }
    out.flush().unwrap();
}
