//! Runs the filter as the kernel would, on calls that nobody dares to make.

use super::allowed::ranges;
use super::program::{ALLOW, ARCHITECTURE, UNJUDGED, X32, build, refuse};
use libc::{
    AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, EAFNOSUPPORT, ENOSYS, EPERM, EPROTONOSUPPORT,
    SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_STREAM, c_long,
};

const I386: u32 = 0x4000_0003;
const ARGUMENTS_DECIDE: [c_long; 6] = [
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_ioctl,
    libc::SYS_personality,
];

fn verdict(architecture: u32, number: u32, arguments: &[u64]) -> u32 {
    let mut words = [0u32; 16];
    words[0] = number;
    words[1] = architecture;
    for (index, argument) in arguments.iter().enumerate() {
        words[4 + index * 2] = *argument as u32;
        words[5 + index * 2] = (*argument >> 32) as u32;
    }
    let program = build();
    let (mut at, mut value) = (0, 0);
    loop {
        let step = program[at];
        at += 1;
        let holds = match u32::from(step.code) {
            0x20 => {
                value = words[step.k as usize / 4];
                continue;
            }
            0x54 => {
                value &= step.k;
                continue;
            }
            0x15 => value == step.k,
            0x35 => value >= step.k,
            0x45 => value & step.k != 0,
            0x06 => return step.k,
            other => panic!("the filter has no instruction {other:#x}"),
        };
        at += usize::from(if holds { step.jt } else { step.jf });
    }
}

fn call(number: c_long, arguments: &[u64]) -> u32 {
    verdict(ARCHITECTURE, number as u32, arguments)
}

#[test]
fn exactly_the_listed_calls_pass() {
    for number in (0..2000).filter(|&number| !ARGUMENTS_DECIDE.contains(&c_long::from(number))) {
        let is_listed = ranges().iter().any(|(first, last)| (*first..=*last).contains(&number));
        let expected = match number {
            _ if is_listed => ALLOW,
            UNJUDGED.. => refuse(ENOSYS),
            _ => refuse(EPERM),
        };
        assert_eq!(verdict(ARCHITECTURE, number, &[]), expected, "{number}");
    }
    for (first, last) in ranges() {
        assert!(first <= last && last < UNJUDGED, "{first} to {last}");
    }
}

#[test]
fn no_other_way_into_the_kernel_is_open() {
    for number in (0..600).chain([u32::MAX, X32 - 1]) {
        assert_eq!(verdict(I386, number, &[]), refuse(EPERM), "i386 {number}");
        assert_ne!(verdict(ARCHITECTURE, number | X32, &[]), ALLOW, "x32 {number}");
    }
    assert_eq!(verdict(0, 0, &[]), refuse(EPERM));
}

#[test]
fn processes_and_threads_can_be_made_but_no_namespaces() {
    assert_eq!(call(libc::SYS_clone3, &[]), refuse(ENOSYS));
    let thread = libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_THREAD;
    for flags in [libc::SIGCHLD, thread, libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD] {
        assert_eq!(call(libc::SYS_clone, &[flags as u64]), ALLOW, "{flags:#x}");
        for bit in [17, 25, 26, 27, 28, 29, 30] {
            let asked = flags as u64 | 1 << bit;
            assert_eq!(call(libc::SYS_clone, &[asked]), refuse(EPERM), "{asked:#x}");
        }
    }
}

#[test]
fn sockets_are_of_the_ordinary_kinds() {
    let socket = |family: i32, kind: i32, protocol: i32| {
        call(libc::SYS_socket, &[family as u64, kind as u64, protocol as u64])
    };
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    for family in [AF_INET, AF_INET6] {
        for kind in [SOCK_STREAM, SOCK_DGRAM, SOCK_STREAM | flags] {
            for protocol in [0, 6, 17] {
                assert_eq!(socket(family, kind, protocol), ALLOW, "{family} {kind} {protocol}");
            }
            for protocol in [1, 58, 132, 136, 255, 262] {
                assert_eq!(socket(family, kind, protocol), refuse(EPROTONOSUPPORT), "{protocol}");
            }
        }
        for kind in [0, SOCK_RAW, SOCK_RAW | flags, 4, SOCK_SEQPACKET, 6, 10] {
            assert_eq!(socket(family, kind, 0), refuse(EPROTONOSUPPORT), "{kind}");
        }
    }
    assert_eq!(socket(AF_UNIX, SOCK_SEQPACKET, 0), ALLOW);
    for protocol in 0..32 {
        let expected = if protocol == 0 { ALLOW } else { refuse(EPROTONOSUPPORT) };
        assert_eq!(socket(AF_NETLINK, SOCK_RAW, protocol), expected, "netlink {protocol}");
    }
    for family in (0..64).filter(|one| ![AF_UNIX, AF_INET, AF_INET6, AF_NETLINK].contains(one)) {
        assert_eq!(socket(family, SOCK_DGRAM, 0), refuse(EAFNOSUPPORT), "{family}");
        assert_eq!(call(libc::SYS_socketpair, &[family as u64, 1, 0]), refuse(EAFNOSUPPORT));
    }
    assert_eq!(call(libc::SYS_socketpair, &[AF_UNIX as u64, 1, 0]), ALLOW);
    // Upper halves that the kernel does not look at change nothing.
    assert_eq!(call(libc::SYS_socket, &[1 << 32 | 40, 1, 0]), refuse(EAFNOSUPPORT));
}

#[test]
fn terminals_cannot_be_typed_into_and_personalities_not_be_odd() {
    for number in [0x5412, 0x541C, 0x5423, 0x8940, 0x8941, 0x8982, 0x8983, 0x89A0, 0x89A1] {
        assert_eq!(call(libc::SYS_ioctl, &[0, number]), refuse(EPERM), "{number:#x}");
        assert_eq!(call(libc::SYS_ioctl, &[0, number | 1 << 32]), refuse(EPERM), "{number:#x}");
    }
    for number in [libc::TIOCGWINSZ, libc::TCGETS, libc::FIONREAD, libc::TIOCSCTTY] {
        assert_eq!(call(libc::SYS_ioctl, &[0, number]), ALLOW, "{number:#x}");
    }
    for odd in [8, 0x0020_0000, 0x0800_0000, 0x0100_0000, 1] {
        assert_eq!(call(libc::SYS_personality, &[odd]), refuse(EPERM), "{odd:#x}");
    }
    for plain in [0, 0xFFFF_FFFF, 0x0004_0000] {
        assert_eq!(call(libc::SYS_personality, &[plain]), ALLOW, "{plain:#x}");
    }
}
