package replicator

import (
	"crypto/x509"
	"os"
	"sync"
	"time"
)

// systemRoots are the authorities that the machine trusts.
var systemRoots roots

// roots are authorities that are read again after a time, which crypto/x509 never does.
type roots struct {
	mu   sync.Mutex
	read time.Time
	pool *x509.CertPool
}

// rootFiles are where Linux distributions keep the authorities, each in one file.
var rootFiles = []string{
	"/etc/ssl/certs/ca-certificates.crt",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem",
	"/etc/ssl/cert.pem",
}

// get returns the authorities, read again where that was longer ago than an age; nil, which stands
// for those that crypto/x509 finds, where they are in none of the files
// (couch_replicator_utils:cacert_get).
func (r *roots) get(now time.Time, age time.Duration) *x509.CertPool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.read.IsZero() || now.Sub(r.read) > age {
		r.read, r.pool = now, readRoots()
	}
	return r.pool
}

func readRoots() *x509.CertPool {
	files := rootFiles
	if file := os.Getenv("SSL_CERT_FILE"); file != "" {
		files = []string{file}
	}
	for _, file := range files {
		pool := x509.NewCertPool()
		if pem, err := os.ReadFile(file); err == nil && pool.AppendCertsFromPEM(pem) {
			return pool
		}
	}
	return nil
}
