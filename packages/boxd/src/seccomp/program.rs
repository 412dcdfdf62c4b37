//! The filter as a classic BPF program. The kernel remembers which calls it allows whatever their
//! arguments are, so its length costs nothing on the calls that matter.

use super::allowed::ranges;
use libc::{EAFNOSUPPORT, ENOSYS, EPERM, EPROTONOSUPPORT, c_long, sock_filter};

#[cfg(target_arch = "x86_64")]
pub const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
pub const ARCHITECTURE: u32 = 0xC000_00B7;

/// x32 calls are numbered from here on.
pub const X32: u32 = 0x4000_0000;
/// Nobody has judged the calls from here on (after mseal). Libraries try new calls first and take
/// the older ones when they hear that there is no such call.
pub const UNJUDGED: u32 = 463;

pub const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
pub const fn refuse(errno: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | errno as u32
}

const NUMBER: u32 = 0;
const ARCH: u32 = 4;
/// The lower half of an argument. All that are looked at here are 32 bits wide to the kernel.
const fn argument(index: u32) -> u32 {
    16 + index * 8
}

const NEW_NAMESPACES: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET) as u32;

/// Typing into the terminal one runs on, and calls that make the host load a kernel module for
/// whoever asks: line disciplines, bridges, VLANs.
const REFUSED_IOCTLS: [u32; 9] = [
    libc::TIOCSTI as u32,
    libc::TIOCLINUX as u32,
    libc::TIOCSETD as u32,
    0x8940, // SIOCGIFBR
    0x8941, // SIOCSIFBR
    0x8982, // SIOCGIFVLAN
    0x8983, // SIOCSIFVLAN
    0x89A0, // SIOCBRADDBR
    0x89A1, // SIOCBRDELBR
];

/// The ordinary one, asking for it, and the one without address randomisation, for debuggers.
const PERSONALITIES: [u32; 3] = [0, u32::MAX, libc::ADDR_NO_RANDOMIZE as u32];

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const ANY_BIT: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const MASK: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

type Code = Vec<sock_filter>;

pub fn build() -> Code {
    let mut program = vec![load(ARCH)];
    program.extend(unless_one_of(&[ARCHITECTURE], refuse(EPERM)));
    program.push(load(NUMBER));
    program.extend([jump(AT_LEAST, X32, 0, 1), give(refuse(EPERM))]);
    program.extend([jump(AT_LEAST, UNJUDGED, 0, 1), give(refuse(ENOSYS))]);
    // clone3 hides its flags behind a pointer, and libc falls back to clone only on ENOSYS.
    program.extend(on(libc::SYS_clone3, vec![give(refuse(ENOSYS))]));
    program.extend(on(libc::SYS_clone, clone()));
    program.extend(on(libc::SYS_socket, socket()));
    program.extend(on(libc::SYS_socketpair, socketpair()));
    program.extend(on(libc::SYS_ioctl, ioctl()));
    program.extend(on(libc::SYS_personality, personality()));
    program.extend(allow(&ranges()));
    program
}

fn clone() -> Code {
    let check = [jump(ANY_BIT, NEW_NAMESPACES, 0, 1), give(refuse(EPERM)), give(ALLOW)];
    [load(argument(0))].into_iter().chain(check).collect()
}

/// Local sockets, IPv4 and IPv6 by TCP and UDP, and the netlink that lists interfaces. Everything
/// else is rare code in the kernel, often loaded on the first use.
fn socket() -> Code {
    let mut rule = vec![load(argument(0))];
    rule.extend(when_equal(libc::AF_UNIX as u32, vec![give(ALLOW)]));
    rule.extend(when_equal(libc::AF_INET as u32, internet_socket()));
    rule.extend(when_equal(libc::AF_INET6 as u32, internet_socket()));
    let mut netlink = vec![load(argument(2))];
    netlink.extend(unless_one_of(&[libc::NETLINK_ROUTE as u32], refuse(EPROTONOSUPPORT)));
    netlink.push(give(ALLOW));
    rule.extend(when_equal(libc::AF_NETLINK as u32, netlink));
    rule.push(give(refuse(EAFNOSUPPORT)));
    rule
}

fn internet_socket() -> Code {
    let kinds = [libc::SOCK_STREAM as u32, libc::SOCK_DGRAM as u32];
    let protocols = [0, libc::IPPROTO_TCP as u32, libc::IPPROTO_UDP as u32];
    // The kind shares its argument with flags.
    let mut rule = vec![load(argument(1)), sock_filter { code: MASK, jt: 0, jf: 0, k: 0xF }];
    rule.extend(unless_one_of(&kinds, refuse(EPROTONOSUPPORT)));
    rule.push(load(argument(2)));
    rule.extend(unless_one_of(&protocols, refuse(EPROTONOSUPPORT)));
    rule.push(give(ALLOW));
    rule
}

fn socketpair() -> Code {
    let mut rule = vec![load(argument(0))];
    rule.extend(unless_one_of(&[libc::AF_UNIX as u32], refuse(EAFNOSUPPORT)));
    rule.push(give(ALLOW));
    rule
}

fn ioctl() -> Code {
    let mut rule = vec![load(argument(1))];
    for number in REFUSED_IOCTLS {
        rule.extend(when_equal(number, vec![give(refuse(EPERM))]));
    }
    rule.push(give(ALLOW));
    rule
}

fn personality() -> Code {
    let mut rule = vec![load(argument(0))];
    rule.extend(unless_one_of(&PERSONALITIES, refuse(EPERM)));
    rule.push(give(ALLOW));
    rule
}

/// A search tree, because the kernel runs the whole program once for every call there is when it
/// takes it in.
fn allow(ranges: &[(u32, u32)]) -> Code {
    if let [(first, last)] = ranges {
        return vec![
            jump(AT_LEAST, *first, 0, 2),
            jump(AT_LEAST, last + 1, 1, 0),
            give(ALLOW),
            give(refuse(EPERM)),
        ];
    }
    let (low, high) = ranges.split_at(ranges.len() / 2);
    let mut code = allow(low);
    code.insert(0, jump(AT_LEAST, high[0].0, distance(&code), 0));
    code.extend(allow(high));
    code
}

/// Runs `body`, which returns on every path, when the call is `number`.
fn on(number: c_long, body: Code) -> Code {
    when_equal(number as u32, body)
}

fn when_equal(value: u32, body: Code) -> Code {
    [jump(EQUAL, value, 0, distance(&body))].into_iter().chain(body).collect()
}

fn unless_one_of(values: &[u32], action: u32) -> Code {
    let compare = |(index, &value)| jump(EQUAL, value, (values.len() - index) as u8, 0);
    values.iter().enumerate().map(compare).chain([give(action)]).collect()
}

fn distance(code: &Code) -> u8 {
    u8::try_from(code.len()).expect("a part of the filter is short enough to be jumped over")
}

fn load(offset: u32) -> sock_filter {
    sock_filter { code: LOAD, jt: 0, jf: 0, k: offset }
}

fn jump(code: u16, value: u32, if_true: u8, if_false: u8) -> sock_filter {
    sock_filter { code, jt: if_true, jf: if_false, k: value }
}

fn give(action: u32) -> sock_filter {
    sock_filter { code: RETURN, jt: 0, jf: 0, k: action }
}
