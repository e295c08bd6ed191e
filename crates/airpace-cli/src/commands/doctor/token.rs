//! What follows from the token of the web page, or from its absence.

use airpace_api::config::WebConfig;
use airpace_live::doctor::Check;
use nix::unistd::{User, geteuid};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

const NAME: &str = "web: token";
/// Where the documentation has the token.
const USUAL: &str = "/etc/airpace/web.token";
/// The user of the packaged service.
const SERVICE_USER: &str = "airpace";

/// Looks at the token of a page that is served.
pub(super) fn check(web: &WebConfig) -> Check {
    let Some(file) = web.token_file.as_deref() else {
        let found = "no token_file: whoever reaches the page sees everything and changes nothing";
        let make = airpace_web::make_token(Path::new(USUAL));
        return Check::good(NAME, found).with_advice(format!(
            "to exempt stations, set the aim and reload on the page: {make}; name it in [web]: \
             token_file = \"{USUAL}\""
        ));
    };
    let name = file.display();
    if let Err(error) = airpace_web::check_token_file(file) {
        let found = format!(
            "{name}: {}: airpace edge does not start with it",
            error.found
        );
        return Check::bad(NAME, found, error.remedy);
    }
    let check = Check::good(
        NAME,
        format!("{name}: whoever can read it may change things on the page"),
    );
    if is_unreadable_for_service(file) {
        return check.with_advice(format!(
            "the packaged service runs as {SERVICE_USER}, cannot read it and does not start: chown \
             {SERVICE_USER}: {name}"
        ));
    }
    if web.listen.ip().is_loopback() {
        return check;
    }
    check.with_advice(format!(
        "at {} the page and the token can be read on the wire: listen on 127.0.0.1 behind ssh -L or a \
         proxy with TLS",
        web.listen
    ))
}

/// Whether root may read the file, and the user of the packaged service may not.
fn is_unreadable_for_service(file: &Path) -> bool {
    let service = User::from_name(SERVICE_USER).ok().flatten();
    let owner = fs::metadata(file).map(|metadata| metadata.uid());
    match (service, owner) {
        (Some(service), Ok(owner)) => geteuid().is_root() && owner != service.uid.as_raw(),
        _ => false,
    }
}
