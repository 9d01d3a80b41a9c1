//! The page's address for a network that plays against itself.

use std::path::Path;

use anyhow::{Context as _, Result};
use tabia_model::Model;
use tabia_serve::LocalModel;

/// A network and its player spec.
pub(crate) struct Watched {
    pub(crate) model: LocalModel,
    spec: String,
}

impl Watched {
    /// Opens a network of any format.
    ///
    /// # Errors
    /// If it is not a known network.
    pub(crate) fn open(file: &Path) -> Result<Watched> {
        let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
        // Errors are reported in the terminal before a window opens.
        let network = Model::from_bytes(&bytes).with_context(|| file.display().to_string())?;
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        let model = LocalModel::new(&name, bytes);
        // Networks without a policy head search one ply.
        let kind = if network.card().policy.is_some() { "human" } else { "net" };
        let spec = format!("{kind}:given/{}", model.name());
        Ok(Watched { model, spec })
    }

    /// The fragment of the page's address for a match of this player against itself.
    pub(crate) fn address(&self, delay: u32) -> String {
        let spec = encoded(&self.spec);
        format!("#/arena?first={spec}&second={spec}&delay={delay}&auto=1")
    }
}

/// Percent-encodes a query parameter.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_player_depends_on_the_heads() {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        let human = Watched::open(&models.join("human.safetensors")).expect("a bundled network");
        assert_eq!(human.spec, "human:given/human.safetensors");
        assert_eq!(
            human.address(300),
            "#/arena?first=human%3Agiven%2Fhuman.safetensors&second=human%3Agiven%2Fhuman.safetensors&delay=300&auto=1"
        );
        let value = Watched::open(&models.join("value.safetensors")).expect("a bundled network");
        assert_eq!(value.spec, "net:given/value.safetensors");
        assert!(Watched::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml").as_path()).is_err());
    }
}
