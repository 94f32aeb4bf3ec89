package replication

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/multipart"
)

// peerOf is a peer at a test server, without retries unless options say so.
func peerOf(t *testing.T, handler http.HandlerFunc, more string, change ...func(*Settings)) *HTTPPeer {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	set := DefaultSettings()
	for _, f := range change {
		f(&set)
	}
	spec := testSpec(t, &set, `,"connection_timeout":20000,"retries_per_request":0`+more)
	e := spec.Source
	e.URL = server.URL + "/db/"
	p := NewHTTPPeer(&e, &spec.Options, &set)
	t.Cleanup(p.Close)
	return p
}

func answerJSON(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text)
}

// endless writes until the other side has enough.
func endless(w http.ResponseWriter, begin string) {
	_, _ = io.WriteString(w, begin)
	part := bytes.Repeat([]byte("x"), 1<<16)
	for {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

// TestHostilePeers ends with an error in bounded time and memory, whatever a peer answers.
func TestHostilePeers(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 256 {
		_, _ = z.Write(make([]byte, 1<<20))
	}
	_ = z.Close()
	answers := map[string]http.HandlerFunc{
		"endless":    func(w http.ResponseWriter, _ *http.Request) { endless(w, `{"update_seq":"`) },
		"wrong JSON": func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, `{"update_seq":`) },
		"not JSON":   func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, `<html>`) },
		"other JSON": func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, `[1,{"a":null}]`) },
		"empty":      func(http.ResponseWriter, *http.Request) {},
		"silent": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		},
		"half": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			answerJSON(w, `{`)
		},
		"redirects": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
		},
		"nowhere": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMovedPermanently) },
		"file": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		},
		"bad gateway": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"gzip bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		},
	}
	wanted := []Wanted{{ID: "a", Rev: compat.Rev{Pos: 1, Hash: "x"}}}
	for name, answer := range answers {
		p := peerOf(t, answer, `,"connection_timeout":300`)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		calls := map[string]func() error{
			"Open":      func() error { return p.Open(ctx, false, nil) },
			"Info":      func() error { _, err := p.Info(ctx); return err },
			"OpenLocal": func() error { d, err := p.OpenLocal(ctx, "_local/a"); return orNil(d == nil, err) },
			"Changes": func() error {
				_, err := p.Changes(
					ctx,
					ChangesRequest{Since: "0", Options: p.options},
					func(ChangeRow) error { return nil },
				)
				return err
			},
			"RevsDiff":  func() error { _, err := p.RevsDiff(ctx, []IDRevs{{ID: "a"}}); return err },
			"BulkGet":   func() error { return p.BulkGet(ctx, wanted, func(int, []byte) error { return nil }) },
			"Fetch":     func() error { return p.Fetch(ctx, wanted[0], func(*Document) error { return nil }) },
			"BulkWrite": func() error { _, err := p.BulkWrite(ctx, [][]byte{[]byte(`{}`)}); return err },
			"Commit":    func() error { _, err := p.Commit(ctx); return err },
		}
		for call, f := range calls {
			begun := time.Now()
			if err := f(); err == nil {
				t.Errorf("%s is content with the answer %q", call, name)
			}
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("%s takes %s over the answer %q", call, took, name)
			}
		}
		cancel()
	}
}

// orNil is an error where one is due: a checkpoint may be missing.
func orNil(missing bool, err error) error {
	if err == nil && missing {
		return errors.New("no checkpoint")
	}
	return err
}

// TestPatience sends a request again after what may pass, and keeps the pace of a peer that is
// busy.
func TestPatience(t *testing.T) {
	var calls atomic.Int32
	p := peerOf(t, func(w http.ResponseWriter, _ *http.Request) {
		switch calls.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2, 3:
			w.WriteHeader(http.StatusTooManyRequests)
		case 4:
			panic(http.ErrAbortHandler)
		default:
			answerJSON(w, `{"update_seq":1,"instance_start_time":"0"}`)
		}
	}, `,"retries_per_request":3`)
	info, err := p.Info(t.Context())
	if err != nil || info.UpdateSeq != "1" || calls.Load() != 5 {
		t.Errorf("%+v %v after %d calls", info, err, calls.Load())
	}
}

// TestRedirectKeepsCredentials sends them to the host they are for, and to no other.
func TestRedirectKeepsCredentials(t *testing.T) {
	leaked := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked <- r.Header.Get("Authorization") + r.Header.Get("Cookie")
		answerJSON(w, `{"update_seq":1,"instance_start_time":"0"}`)
	}))
	defer other.Close()
	p := peerOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			t.Error("no credentials for the host itself")
		}
		http.Redirect(w, r, other.URL+"/db/", http.StatusFound)
	}, "", func(s *Settings) { s.SessionAuth = false })
	p.endpoint.User, p.endpoint.Password, p.endpoint.HasCreds = "u", "p", true
	if _, err := p.Info(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-leaked; got != "" {
		t.Errorf("another host got %q", got)
	}
}

// TestGuard refuses addresses, by whatever name they are reached.
func TestGuard(t *testing.T) {
	called := false
	denied := func(s *Settings) {
		var err error
		if s.Guard, err = ParseGuard("", "127.0.0.0/8,::1"); err != nil {
			t.Fatal(err)
		}
	}
	p := peerOf(t, func(http.ResponseWriter, *http.Request) { called = true }, `,"retries_per_request":5`, denied)
	for _, host := range []string{"127.0.0.1", "localhost"} {
		p.endpoint.URL = strings.Replace(p.endpoint.URL, "127.0.0.1", host, 1)
		begun := time.Now()
		if _, err := p.Info(t.Context()); !isAddressError(err) || called || time.Since(begun) > 5*time.Second {
			t.Errorf("%s: %v, called %v", host, err, called)
		}
	}
	g, err := ParseGuard("10.0.0.0/8", "10.1.0.0/16")
	if err != nil {
		t.Fatal(err)
	}
	for address, allowed := range map[string]bool{"10.2.3.4:80": true, "10.1.3.4:80": false, "11.0.0.1:80": false, "[::ffff:10.1.0.1]:80": false, "x": false} {
		if got := g.control("tcp", address, nil) == nil; got != allowed {
			t.Errorf("%s: allowed %v", address, got)
		}
	}
	if NoNetworks().control("tcp", "1.2.3.4:1", nil) == nil ||
		NoNetworks().control("tcp", "[2001:db8::1]:1", nil) == nil {
		t.Error("NoNetworks allows one")
	}
}

// TestGuardOfTranslatedAddresses: an address that stands for another one is as that one, and own is
// whatever this machine has.
func TestGuardOfTranslatedAddresses(t *testing.T) {
	g, err := ParseGuard("", "10.0.0.0/8, own")
	require.NoError(t, err)
	addresses := map[string]bool{
		"64:ff9b::a00:1": false, "64:ff9b::b00:1": true, "64:ff9b:1::a01:203": false, "2002:a01:203::1": false,
		"2002:b01:203::1": true, "::10.0.0.1": false, "::ffff:10.0.0.1": false, "11.0.0.1": true, "2001:db8::1": true,
		"::1": true,
	}
	own, err := net.InterfaceAddrs()
	require.NoError(t, err)
	for _, a := range own {
		addresses[a.(*net.IPNet).IP.String()] = false
	}
	for address, allowed := range addresses {
		require.Equal(t, allowed, g.Allows(netip.MustParseAddr(address)), address)
	}
	if g, err = ParseGuard("::1, 10.0.0.0/8", ""); err != nil || !g.Allows(netip.IPv6Loopback()) {
		t.Error("what is allowed alone is not", err)
	}
}

// TestRedirectToAnotherOrigin: nothing that may be secret goes to another port of the same host,
// and its answer is no renewed session.
func TestRedirectToAnotherOrigin(t *testing.T) {
	var there http.Header
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		there = r.Header
		answerJSON(w, `{"db_name":"a","instance_start_time":"0","update_seq":"1"}`)
	}))
	defer other.Close()
	p := peerOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "key" {
			t.Error("the header is left out at once")
		}
		http.Redirect(w, r, other.URL, http.StatusFound)
	}, "")
	p.endpoint.Headers = append(p.endpoint.Headers, Header{"X-Api-Key", "key"}, Header{"Cookie", "a=b"})
	p.endpoint.HasCreds, p.endpoint.User, p.endpoint.Password = true, "u", "p"
	_, err := p.Info(t.Context())
	require.NoError(t, err)
	require.NotNil(t, there)
	for _, name := range []string{"X-Api-Key", "Cookie", "Authorization", "Referer"} {
		require.Empty(t, there.Get(name), name)
	}
}

// TestSession logs in, takes renewed cookies, and logs in again when an old cookie is refused.
func TestSession(t *testing.T) {
	var logins, refusals atomic.Int32
	p := peerOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/_session" {
			if r.FormValue("name") != "u" || r.FormValue("password") != "p&" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			name := fmt.Sprint("c", logins.Add(1))
			http.SetCookie(w, &http.Cookie{Name: "AuthSession", Value: name})
			answerJSON(w, `{"ok":true}`)
			return
		}
		cookie, err := r.Cookie("AuthSession")
		if err != nil || cookie.Value == "c1" && logins.Load() == 1 && refusals.Load() > 0 {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answerJSON(w, `{"update_seq":1,"instance_start_time":"0"}`)
	}, "")
	p.endpoint.User, p.endpoint.Password, p.endpoint.HasCreds = "u", "p&", true
	if err := p.Open(t.Context(), false, nil); err != nil {
		t.Fatal(err)
	}
	refusals.Add(1)
	p.session.since = time.Now().Add(-time.Minute)
	if _, err := p.Info(t.Context()); err != nil || logins.Load() != 2 {
		t.Errorf("%v after %d logins", err, logins.Load())
	}
	p.endpoint.Password = "wrong"
	p.session = nil
	var f *Failure
	if err := p.Open(t.Context(), false, nil); !errors.As(err, &f) ||
		!strings.HasPrefix(f.Inner, "{session_request_unauthorized,") {
		t.Errorf("%v", err)
	}
}

// TestPutStreams sends attachments as they come, with a length that is known before.
func TestPutStreams(t *testing.T) {
	var got string
	var length int64
	p := peerOf(t, func(w http.ResponseWriter, r *http.Request) {
		length = r.ContentLength
		reader, err := multipart.NewRelatedReader(r.Header.Get("Content-Type"), r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		doc, _ := reader.Document()
		_, _ = io.Copy(io.Discard, doc)
		text, err := io.ReadAll(reader.Attachment(5 << 20))
		if err != nil {
			t.Error(err)
		}
		got = string(text)
		_ = reader.Finish()
		w.WriteHeader(http.StatusCreated)
		answerJSON(w, `{"ok":true,"rev":"1-a"}`)
	}, `,"connection_timeout":60000`) // five megabytes take longer than peerOf allows on a busy machine
	content := strings.Repeat("0123456789", 1<<19)
	err := p.Put(t.Context(), &Document{ID: "a/b", JSON: []byte(`{"_id":"a/b"}`), Attachments: []Attachment{{
		Name: "x", Type: "a/b", Length: 5 << 20,
		Copy: func(_ context.Context, w io.Writer) error { _, err := io.WriteString(w, content); return err },
	}}})
	if err != nil || got != content || length < 5<<20 {
		t.Errorf("%v, %d bytes of %d", err, len(got), length)
	}
	for status, want := range map[int]bool{403: true, 413: true, 415: true, 500: false, 409: false} {
		refusing := peerOf(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			answerJSON(w, `{"error":"forbidden","reason":"no"}`)
		}, "")
		var refusal *Refusal
		if err := refusing.Put(t.Context(), &Document{ID: "a", JSON: []byte("{}")}); err == nil ||
			errors.As(err, &refusal) != want {
			t.Errorf("%d: %v", status, err)
		}
	}
}
