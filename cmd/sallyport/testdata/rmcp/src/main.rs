//! A server of rmcp on standard input and output, as an example of its README: a counter, a sum, and a question.
//! Tokio has no stdio for WASI, so the two streams are here: a read blocks until there is input.
use std::{
    io::{self, Read, Write},
    pin::Pin,
    sync::{Arc, atomic::{AtomicI64, Ordering}},
    task::{Context, Poll},
};

use rmcp::{
    ErrorData, ServerHandler, ServiceExt,
    handler::server::{router::tool::ToolRouter, wrapper::Parameters},
    model::{ServerCapabilities, ServerConfig},
    tool, tool_handler, tool_router,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A read that blocks would stop all tasks, so it gives them turns first.
struct Input {
    turns: u32,
}

const TURNS: u32 = 64;

struct Output;

impl AsyncRead for Input {
    fn poll_read(mut self: Pin<&mut Self>, task: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.turns > 0 {
            self.turns -= 1;
            task.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.turns = TURNS;
        let n = io::stdin().lock().read(buf.initialize_unfilled())?;
        buf.advance(n);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(io::stdout().lock().write(buf))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(io::stdout().lock().flush())
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[derive(Clone)]
struct Counter {
    count: Arc<AtomicI64>,
    #[allow(dead_code)]
    tool_router: ToolRouter<Self>,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Sum {
    #[schemars(description = "the first term")]
    a: i64,
    b: i64,
}

#[tool_router]
impl Counter {
    fn new() -> Self {
        Self { count: Arc::default(), tool_router: Self::tool_router() }
    }

    #[tool(description = "Adds one to the counter.")]
    async fn increment(&self) -> String {
        (self.count.fetch_add(1, Ordering::SeqCst) + 1).to_string()
    }

    #[tool(description = "Adds two numbers.")]
    async fn sum(&self, Parameters(Sum { a, b }): Parameters<Sum>) -> Result<String, ErrorData> {
        a.checked_add(b)
            .map(|sum| sum.to_string())
            .ok_or_else(|| ErrorData::invalid_params("the sum is too large", None))
    }
}

#[tool_handler]
impl ServerHandler for Counter {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Counter::new().serve((Input { turns: TURNS }, Output)).await?.waiting().await?;
    Ok(())
}

// The C library of Debian for WASI has no threads, and these functions of it are never called.
#[cfg(target_os = "wasi")]
mod threads {
    #[no_mangle]
    extern "C" fn pthread_detach(_: usize) -> i32 {
        unreachable!()
    }
    #[no_mangle]
    extern "C" fn pthread_join(_: usize, _: usize) -> i32 {
        unreachable!()
    }
}
