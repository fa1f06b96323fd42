//! The rules, one a file: its reason first, then `RULE`, then its check, then a bad and a good example as tests.

pub(super) mod address;
pub(super) mod banned;
pub(super) mod decision;
pub(super) mod imports;
pub(super) mod long_file;
pub(super) mod long_function;
pub(super) mod long_line;
pub(super) mod machine_source;
pub(super) mod manifest;
pub(super) mod promise;
pub(super) mod sources;
pub(super) mod stray_file;
pub(super) mod type_name;
pub(super) mod vocabulary;
pub(super) mod whitespace;
