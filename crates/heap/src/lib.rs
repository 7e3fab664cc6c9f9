//! The allocator: jemalloc, and the end of the process when there is no memory.

use std::alloc::{GlobalAlloc, Layout};
use std::io::Write as _;

use tikv_jemallocator::Jemalloc;

/// jemalloc. An allocation that fails ends the process with SIGABRT, after one line on standard
/// error.
#[derive(Debug, Clone, Copy, Default)]
pub struct Heap;

// SAFETY: every method does what that of `Jemalloc` does, or does not return.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Heap {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises the same.
        checked(unsafe { Jemalloc.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller promises the same.
        unsafe { Jemalloc.dealloc(pointer, layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller promises the same.
        checked(unsafe { Jemalloc.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises the same.
        checked(unsafe { Jemalloc.realloc(pointer, layout, size) }, size)
    }
}

#[inline]
fn checked(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() {
        out_of_memory(size);
    }
    pointer
}

/// Ends the process. Allocates nothing, and takes no lock.
#[cold]
#[inline(never)]
fn out_of_memory(size: usize) -> ! {
    let mut line = [0_u8; 96];
    let mut rest = &mut line[..];
    // The line has room for any number.
    let _ = writeln!(rest, "pointsman: no memory for {size} bytes; the process ends");
    let left = rest.len();
    let _ = rustix::io::write(rustix::stdio::stderr(), &line[..line.len() - left]);
    std::process::abort()
}
