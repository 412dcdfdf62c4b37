//! The calls that are allowed whatever their arguments are.

use libc::*;

/// Not named by libc on every architecture, but the same number on all.
const FCHMODAT2: c_long = 452;

/// Calls that every architecture has. `clone`, `socket`, `socketpair`, `ioctl` and `personality`
/// are not here: their arguments decide (see `program.rs`).
#[rustfmt::skip]
const EVERYWHERE: &[c_long] = &[
    // files and descriptors
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv,
    SYS_pwritev, SYS_preadv2, SYS_pwritev2, SYS_openat, SYS_openat2, SYS_close, SYS_close_range,
    SYS_lseek, SYS_dup, SYS_dup3, SYS_fcntl, SYS_flock, SYS_fsync, SYS_fdatasync, SYS_sync,
    SYS_syncfs, SYS_sync_file_range, SYS_truncate, SYS_ftruncate, SYS_fallocate, SYS_fadvise64,
    SYS_readahead, SYS_copy_file_range, SYS_sendfile, SYS_splice, SYS_tee, SYS_vmsplice,
    SYS_pipe2, SYS_memfd_create, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_statfs, SYS_fstatfs,
    SYS_faccessat, SYS_faccessat2, SYS_getdents64, SYS_getcwd, SYS_chdir, SYS_fchdir,
    SYS_mkdirat, SYS_unlinkat, SYS_linkat, SYS_symlinkat, SYS_readlinkat, SYS_renameat,
    SYS_renameat2, SYS_fchmod, SYS_fchmodat, FCHMODAT2, SYS_fchown, SYS_fchownat, SYS_utimensat,
    SYS_umask, SYS_mknodat, SYS_name_to_handle_at, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr,
    SYS_getxattr, SYS_lgetxattr, SYS_fgetxattr, SYS_listxattr, SYS_llistxattr, SYS_flistxattr,
    SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_inotify_init1,
    SYS_inotify_add_watch, SYS_inotify_rm_watch,
    // waiting
    SYS_ppoll, SYS_pselect6, SYS_epoll_create1, SYS_epoll_ctl, SYS_epoll_pwait,
    SYS_epoll_pwait2, SYS_eventfd2, SYS_signalfd4, SYS_timerfd_create, SYS_timerfd_settime,
    SYS_timerfd_gettime, SYS_futex, SYS_futex_waitv, SYS_restart_syscall,
    // asynchronous files, the old way; io_uring is denied
    SYS_io_setup, SYS_io_destroy, SYS_io_submit, SYS_io_cancel, SYS_io_getevents,
    // memory
    SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_pkey_mprotect, SYS_pkey_alloc,
    SYS_pkey_free, SYS_madvise, SYS_brk, SYS_msync, SYS_mincore, SYS_mlock, SYS_mlock2,
    SYS_munlock, SYS_mlockall, SYS_munlockall, SYS_membarrier, SYS_mseal,
    // processes and threads
    SYS_execve, SYS_execveat, SYS_exit, SYS_exit_group, SYS_wait4, SYS_waitid, SYS_getpid,
    SYS_getppid, SYS_gettid, SYS_getpgid, SYS_setpgid, SYS_getsid, SYS_setsid,
    SYS_set_tid_address, SYS_set_robust_list, SYS_get_robust_list, SYS_rseq, SYS_prctl,
    SYS_pidfd_open, SYS_pidfd_send_signal, SYS_ptrace, SYS_getpriority, SYS_setpriority,
    SYS_ioprio_get, SYS_ioprio_set, SYS_sched_yield, SYS_sched_getaffinity,
    SYS_sched_setaffinity, SYS_sched_getparam, SYS_sched_setparam, SYS_sched_getscheduler,
    SYS_sched_setscheduler, SYS_sched_getattr, SYS_sched_setattr, SYS_sched_get_priority_max,
    SYS_sched_get_priority_min, SYS_sched_rr_get_interval, SYS_getcpu, SYS_prlimit64,
    SYS_getrlimit, SYS_setrlimit, SYS_getrusage, SYS_times,
    // signals
    SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
    SYS_rt_sigpending, SYS_rt_sigtimedwait, SYS_rt_sigsuspend, SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo, SYS_sigaltstack,
    // identity; without capabilities these only give rights up
    SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getresuid, SYS_getresgid,
    SYS_getgroups, SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid,
    SYS_setresgid, SYS_setgroups, SYS_setfsuid, SYS_setfsgid, SYS_capget, SYS_capset,
    SYS_seccomp, SYS_landlock_create_ruleset, SYS_landlock_add_rule, SYS_landlock_restrict_self,
    // clocks
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday,
    SYS_getitimer, SYS_setitimer, SYS_timer_create, SYS_timer_settime, SYS_timer_gettime,
    SYS_timer_getoverrun, SYS_timer_delete,
    // sockets, once there is one
    SYS_bind, SYS_listen, SYS_accept, SYS_accept4, SYS_connect, SYS_getsockname,
    SYS_getpeername, SYS_getsockopt, SYS_setsockopt, SYS_shutdown, SYS_sendto, SYS_recvfrom,
    SYS_sendmsg, SYS_recvmsg, SYS_sendmmsg, SYS_recvmmsg,
    // System V and POSIX messages, in the sandbox's own ipc namespace
    SYS_shmget, SYS_shmat, SYS_shmdt, SYS_shmctl, SYS_semget, SYS_semop, SYS_semtimedop,
    SYS_semctl, SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink,
    SYS_mq_timedsend, SYS_mq_timedreceive, SYS_mq_notify, SYS_mq_getsetattr,
    // this machine
    SYS_uname, SYS_sysinfo, SYS_getrandom,
];

/// Older spellings of the same calls, which x86-64 keeps and libraries still use.
#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
const OLDER: &[c_long] = &[
    SYS_open, SYS_creat, SYS_stat, SYS_lstat, SYS_access, SYS_poll, SYS_select, SYS_pipe,
    SYS_dup2, SYS_pause, SYS_alarm, SYS_fork, SYS_vfork, SYS_getdents, SYS_rename, SYS_mkdir,
    SYS_rmdir, SYS_link, SYS_unlink, SYS_symlink, SYS_readlink, SYS_chmod, SYS_chown,
    SYS_lchown, SYS_getpgrp, SYS_utime, SYS_utimes, SYS_futimesat, SYS_mknod, SYS_arch_prctl,
    SYS_time, SYS_epoll_create, SYS_epoll_wait, SYS_inotify_init, SYS_signalfd, SYS_eventfd,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

/// The allowed numbers, sorted, as ranges without a gap: `(first, last)`.
pub fn ranges() -> Vec<(u32, u32)> {
    let mut numbers: Vec<u32> =
        EVERYWHERE.iter().chain(OLDER).map(|&number| number as u32).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}
