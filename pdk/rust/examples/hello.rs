use sallyport::*;

tool! {
    /// Greets someone.
    fn greet(/** who to greet */ name: String) -> String { format!("Hello, {}!", name) }
}

plugin!("hello", "1.0.0", greet());
