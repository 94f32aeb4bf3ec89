package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// ownCalls are those of the table that only this architecture has.
var ownCalls []allowedCall

// mapCall is mmap: some processors have only mmap2.
const mapCall = unix.SYS_MMAP
