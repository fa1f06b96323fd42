pub mod settings;
pub use settings::HppSettings;
