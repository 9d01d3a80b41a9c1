use std::io::Write;

use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::*;
use crate::Place;

const CHECKPOINT: &[u8] = include_bytes!("../../../../../fixtures/models/statedict/cnn-bilinear.pt");
const TRAINING: &[u8] = include_bytes!("../../../../../fixtures/models/statedict/policy-mlp.pt");

fn zip_of(entries: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in entries {
        writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A pickle of one tensor "w" over storage 0.
fn pickle_of(class: &str, arguments: &[u8]) -> Vec<u8> {
    let mut pickle =
        b"\x80\x02}X\x01\0\0\0wctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\n".to_vec();
    pickle.extend_from_slice(class.as_bytes());
    pickle.extend_from_slice(b"\nX\x01\0\0\x000X\x03\0\0\0cpuK\x06tQ");
    pickle.extend_from_slice(arguments);
    pickle.extend_from_slice(b"tRs.");
    pickle
}

fn checkpoint(class: &str, arguments: &[u8], storage: &[u8]) -> Vec<u8> {
    let entries = [("a/data.pkl", pickle_of(class, arguments)), ("a/data/0", storage.to_vec())];
    zip_of(&entries.each_ref().map(|(name, bytes)| (*name, bytes.as_slice())), CompressionMethod::Stored)
}

fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

#[test]
fn strided_tensors_are_gathered_row_major() {
    let storage = floats(&[9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    // [2, 3] from element 1 by columns.
    let by_columns = checkpoint("FloatStorage", b"K\x01K\x02K\x03\x86K\x01K\x02\x86", &storage);
    let mut tensors = read(&by_columns).unwrap();
    assert_eq!(tensors.take("w", &[2, 3]).unwrap().data(), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
    let by_rows = checkpoint("FloatStorage", b"K\x01K\x02K\x03\x86K\x03K\x01\x86", &storage);
    assert_eq!(read(&by_rows).unwrap().take("w", &[2, 3]).unwrap().data(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let repeated = checkpoint("FloatStorage", b"K\x02K\x03\x85K\x00\x85", &storage);
    assert_eq!(read(&repeated).unwrap().take("w", &[3]).unwrap().data(), [2.0, 2.0, 2.0]);
    let scalar = checkpoint("FloatStorage", b"K\x03))", &storage);
    assert_eq!(read(&scalar).unwrap().take("w", &[]).unwrap().data(), [3.0]);
    let empty = checkpoint("FloatStorage", b"K\x00K\x00\x85K\x01\x85", &storage);
    assert!(read(&empty).unwrap().take("w", &[0]).unwrap().data().is_empty());
}

#[test]
fn tensors_must_fit_their_storage() {
    let storage = floats(&[0.0; 6]);
    for arguments in [
        b"K\x00K\x07\x85K\x01\x85".as_slice(), // one too many
        b"K\x01K\x06\x85K\x01\x85",            // offset
        b"K\x00K\x02K\x02\x86K\x05K\x02\x86",  // strides
        b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7fK\x01\x85K\x01\x85", // offset near overflow
        b"K\x00K\x02\x85\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85", // stride near overflow
    ] {
        let error = read(&checkpoint("FloatStorage", arguments, &storage)).unwrap_err();
        assert_eq!(error.kind(), LoadErrorKind::Malformed, "{error}");
        assert_eq!(error.place(), &Place::Tensor("w".to_owned()), "{error}");
    }
    // 2^31 - 1 copies of one number, and a product past the address space.
    for arguments in [
        b"K\x00J\xff\xff\xff\x7f\x85K\x00\x85".as_slice(),
        b"K\x00\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7fK\x04\x86K\x00K\x00\x86",
    ] {
        let error = read(&checkpoint("FloatStorage", arguments, &storage)).unwrap_err();
        assert_eq!((error.kind(), error.place()), (LoadErrorKind::TooLarge, &Place::Tensor("w".to_owned())));
    }
}

#[test]
fn missing_storage_names_its_tensor() {
    let pickle = pickle_of("FloatStorage", b"K\x00K\x01\x85K\x01\x85");
    let bytes = zip_of(&[("a/data.pkl", &pickle), ("a/data/1", &[0; 4])], CompressionMethod::Stored);
    let error = read(&bytes).unwrap_err();
    assert_eq!(error.place(), &Place::Tensor("w".to_owned()), "{error}");
}

#[test]
fn unsupported_storages_are_an_error_only_if_used() {
    let complex = checkpoint("ComplexFloatStorage", b"K\x00K\x01\x85K\x01\x85", &[0; 8]);
    let error = read(&complex).unwrap().take("w", &[1]).unwrap_err();
    assert_eq!(error.kind(), tabia_onnx::ErrorKind::Unsupported);
    assert!(error.to_string().contains("ComplexFloatStorage"), "{error}");
}

#[test]
fn optimiser_state_is_ignored() {
    let tensors = read(TRAINING).unwrap();
    let names: Vec<&str> = tensors.names().collect();
    assert_eq!(
        names,
        ["net.0.bias", "net.0.weight", "net.2.bias", "net.2.weight", "net.4.bias", "net.4.weight"]
    );
}

#[test]
fn deflated_entries_are_read() {
    let mut zip = ZipArchive::new(Cursor::new(CHECKPOINT)).unwrap();
    let names: Vec<String> = zip.file_names().flatten().map(String::from).collect();
    let mut entries = Vec::new();
    for name in &names {
        let mut bytes = Vec::new();
        zip.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
        entries.push((name.as_str(), bytes));
    }
    let entries: Vec<(&str, &[u8])> = entries.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
    let packed = zip_of(&entries, CompressionMethod::Deflated);
    assert!(packed.len() < CHECKPOINT.len());
    let (packed, stored) = (read(&packed).unwrap(), read(CHECKPOINT).unwrap());
    assert_eq!(packed.first_names(), stored.first_names());
}

#[test]
fn truncated_files_are_rejected() {
    for cut in (0..CHECKPOINT.len()).step_by(7) {
        let error = read(&CHECKPOINT[..cut]).unwrap_err();
        assert_eq!(error.kind(), LoadErrorKind::Malformed, "cut at {cut}: {error}");
    }
}

#[test]
fn flipped_bytes_never_panic() {
    for at in (0..CHECKPOINT.len()).step_by(3) {
        let mut bytes = CHECKPOINT.to_vec();
        bytes[at] ^= 0x55;
        if let Ok(tensors) = read(&bytes) {
            crate::nets::recognise(tensors, &crate::card::StateDict::default(), None).map_or_else(drop, drop);
        }
    }
}

#[test]
fn decompressed_size_is_bounded() {
    let zeros = vec![0; MAX_PICKLE_BYTES + 1];
    let bomb = zip_of(&[("a/data.pkl", &zeros)], CompressionMethod::Deflated);
    assert!(bomb.len() < 1 << 20);
    assert_eq!(read(&bomb).unwrap_err().kind(), LoadErrorKind::TooLarge);
}

#[test]
fn other_files_are_rejected() {
    let refused = |bytes: &[u8], kind| {
        let error = read(bytes).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    };
    let zip = |entries: &[(&str, &[u8])]| zip_of(entries, CompressionMethod::Stored);
    refused(b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", LoadErrorKind::Unsupported);
    refused(b"garbage", LoadErrorKind::Malformed);
    refused(b"", LoadErrorKind::Malformed);
    refused(&zip(&[("word/document.xml", b"")]), LoadErrorKind::Malformed);
    let script = zip(&[("m/data.pkl", b"N."), ("m/constants.pkl", b")."), ("m/code/a.py", b"")]);
    refused(&script, LoadErrorKind::Unsupported);
    refused(&zip(&[("a/data.pkl", b"N."), ("a/byteorder", b"big")]), LoadErrorKind::Unsupported);
    let object = zip(&[("a/data.pkl", b"\x80\x02c__main__\nNet\n)\x81}b.")]);
    refused(&object, LoadErrorKind::Unsupported);
    let no_tensors = zip(&[("a/data.pkl", b"\x80\x02}X\x05\0\0\0epochK\x03s.")]);
    refused(&no_tensors, LoadErrorKind::UnknownNetwork);
    refused(&zip(&[("a/data.pkl", b"\x80\x02}X")]), LoadErrorKind::Malformed);
}

/// Two tensors over one storage: the second begins at element 1.
fn shared() -> Vec<u8> {
    let mut pickle = b"\x80\x02}(".to_vec();
    for (name, offset) in [(b'v', 0), (b'w', 1)] {
        pickle.extend_from_slice(&[b'X', 1, 0, 0, 0, name]);
        pickle.extend_from_slice(
            b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\n",
        );
        pickle.extend_from_slice(b"X\x01\0\0\x000X\x03\0\0\0cpuK\x03tQ");
        pickle.extend_from_slice(&[b'K', offset]);
        pickle.extend_from_slice(b"K\x02\x85K\x01\x85tR");
    }
    pickle.extend_from_slice(b"u.");
    let storage = floats(&[1.0, 2.0, 3.0]);
    zip_of(&[("a/data.pkl", &pickle), ("a/data/0", &storage)], CompressionMethod::Stored)
}

#[test]
fn tensors_may_share_a_storage() {
    let mut tensors = read(&shared()).unwrap();
    assert_eq!(tensors.take("v", &[2]).unwrap().data(), [1.0, 2.0]);
    assert_eq!(tensors.take("w", &[2]).unwrap().data(), [2.0, 3.0]);
}

#[test]
fn all_tensors_together_are_limited_before_any_is_read() {
    let file = shared();
    read_from(&mut Cursor::new(&file), 4).unwrap();
    let error = read_from(&mut Cursor::new(&file), 3).unwrap_err();
    assert_eq!((error.kind(), error.place()), (LoadErrorKind::TooLarge, &Place::File));
}

#[test]
fn a_damaged_storage_is_noticed() {
    let storage = floats(&[1.0, 2.0, 3.0]);
    let mut file = checkpoint("FloatStorage", b"K\x00K\x02\x85K\x01\x85", &storage);
    let at = file.windows(4).position(|bytes| bytes == 3_f32.to_le_bytes()).unwrap();
    file[at] ^= 1;
    let error = read(&file).unwrap_err();
    assert_eq!((error.kind(), error.place()), (LoadErrorKind::Malformed, &Place::Tensor("w".to_owned())));
}
