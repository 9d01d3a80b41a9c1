//! The Universal Chess Interface, both ends.
