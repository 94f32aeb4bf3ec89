package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// ownCalls are those of the table that only this architecture has.
var ownCalls []allowedCall
