package replicator

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/replication"
)

// TestSystemRoots: the authorities of the machine are read again after the time that is set, not
// before; where they are in no file, crypto/x509 finds them.
func TestSystemRoots(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "roots.pem")
	t.Setenv("SSL_CERT_FILE", file)
	trusted := func(pool *x509.CertPool) bool {
		_, err := server.Certificate().Verify(x509.VerifyOptions{Roots: pool, DNSName: "example.com"})
		return err == nil
	}
	now := time.Now()
	var r roots
	require.Nil(t, r.get(now, time.Hour))
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(file, text, 0o600))
	require.Nil(t, r.get(now.Add(time.Hour), time.Hour), "not read again yet")
	require.True(t, trusted(r.get(now.Add(time.Hour+1), time.Hour)))
	require.NoError(t, os.Remove(file))
	require.True(t, trusted(r.get(now.Add(2*time.Hour), time.Hour)), "not read again yet")
	require.Nil(t, r.get(now.Add(2*time.Hour), 0))
}

// TestFilesAreReadAgain: a peer that is in use trusts whom the files say after they have changed, and
// whom they said before while they are written.
func TestFilesAreReadAgain(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close") // each request has a connection of its own
		_, _ = w.Write([]byte(`{"db_name":"db","update_seq":"0","instance_start_time":"0"}`))
	}))
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	file := filepath.Join(t.TempDir(), "trusted.pem")
	stamp := time.Now()
	write := func(text []byte) {
		require.NoError(t, os.WriteFile(file, text, 0o600))
		stamp = stamp.Add(time.Second) // each is another file, however fast they follow
		require.NoError(t, os.Chtimes(file, stamp, stamp))
	}
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	other := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: otherCertificate(t)})
	c, err := config.Load(map[string]map[string]string{"replicator": {
		"verify_ssl_certificates": "true", "ssl_trusted_certificates_file": file,
	}})
	require.NoError(t, err)
	files := &trustFiles{config: c}
	require.Error(t, files.read(), "there is no file")
	set := replication.DefaultSettings()
	set.TLS, set.Retries = files.current, 0
	text := `{"source":"` + server.URL + `/db","target":"` + server.URL + `/db","retries_per_request":0}`
	v, err := ejson.Parse([]byte(text))
	require.NoError(t, err)
	spec, err := replication.ParseSpec(v, &set)
	require.NoError(t, err)
	peer := replication.NewHTTPPeer(&spec.Source, &spec.Options, &set)
	defer peer.Close()
	open := func() error { return peer.Open(t.Context(), false, nil) }
	require.Error(t, open(), "nobody is trusted")
	write(other)
	require.Error(t, open())
	write(own)
	require.NoError(t, open())
	require.Same(t, files.current(), files.current(), "connections are used again")
	write(nil)
	require.NoError(t, open(), "it is half written")
	write(other)
	require.Error(t, open())
}

// otherCertificate is one of an authority that has signed nothing.
func otherCertificate(t *testing.T) []byte {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	require.NoError(t, err)
	return der
}

// TestVerifiedWithoutFile: verify_ssl_certificates alone is no error, and asks for a certificate of
// the machine's authorities.
func TestVerifiedWithoutFile(t *testing.T) {
	c, err := config.Load(map[string]map[string]string{"replicator": {"verify_ssl_certificates": "true"}})
	require.NoError(t, err)
	trust, err := replicatorTLS(c)
	require.NoError(t, err)
	require.False(t, trust.InsecureSkipVerify)
	require.Nil(t, trust.RootCAs)
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	trust.RootCAs = new(roots).get(time.Now(), time.Hour)
	_, err = tls.Dial("tcp", server.Listener.Addr().String(), trust)
	require.ErrorAs(t, err, new(*tls.CertificateVerificationError))
}
