//! What strangers and operators ask of the in-line box: requests over HTTP to the page and the metrics,
//! and lines to the control socket. The first byte says which.
#![no_main]

use airpace_live::fuzzing::operator;
use airpace_web::fuzzing::Pages;
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;

thread_local! {
    static PAGES: RefCell<Pages> = RefCell::new(Pages::default());
}

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else {
        return;
    };
    if choice == b'o' {
        // Every line has one answer, in order, and none is lost.
        let lines = rest.iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!(operator(rest), lines);
    } else {
        PAGES.with_borrow_mut(|pages| {
            if pages.handle(rest) {
                // A request is complete with its last byte and stays so.
                assert!(pages.handle(rest));
            }
        });
    }
});
