package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/server"
	"github.com/settee-db/settee/server/console"
)

// lookupTime is how long it may take to find the address of a name to listen on.
const lookupTime = 10 * time.Second

// listeners are the ports of a server. They follow the configuration, and run until the server's
// Shutdown.
type listeners struct {
	*app
	o       serveOptions
	log     *slog.Logger
	failed  chan error // the error of the first listener that ended by itself
	running sync.WaitGroup

	mu      sync.Mutex
	ports   []*port
	stopped bool
}

// port is one of them.
type port struct {
	settings string // which say where it is
	about    []any  // for the log
	// wanted is the address to listen on, "" for none. key changes with all that the port depends
	// on.
	wanted func() (address, key string)
	// answer makes what has connections answered.
	answer func() (func(net.Listener) error, error)

	open  net.Listener  // nil: it does not listen
	ended chan struct{} // closed when nothing accepts from open any longer
	key   string        // what it was opened for, or could not be
}

// newListeners describes the ports of a server: HTTP, HTTPS, metrics and event functions. Each
// gives the address that the settings want now ("" for none) together with all that its listener
// depends on, so that a change of settings opens, closes or moves just that port.
func newListeners(a *app, o serveOptions, log *slog.Logger) *listeners {
	l := &listeners{app: a, o: o, log: log, failed: make(chan error, 1)}
	c := a.config
	fixed := func(f func(net.Listener) error) func() (func(net.Listener) error, error) {
		return func() (func(net.Listener) error, error) { return f, nil }
	}
	beside := func(port string) string { // at the address of HTTP
		host, _, _ := net.SplitHostPort(l.o.address(c)) // which has been listened on
		return net.JoinHostPort(host, port)
	}
	l.ports = []*port{
		{
			settings: "[chttpd] bind_address and port, or --listen, --bind, --port",
			about:    []any{"engine", o.engine, "data", o.dataDir},
			wanted:   func() (string, string) { return l.o.address(c), l.o.address(c) },
			answer:   fixed(a.server.Serve),
		},
		{
			settings: "[ssl] enable and the files it needs",
			about:    []any{"tls", true},
			wanted: func() (string, string) {
				address := beside(c.String("ssl", "port"))
				return where(c.Bool("ssl", "enable"), address), fmt.Sprint(address, c.Section("ssl"))
			},
			answer: func() (func(net.Listener) error, error) {
				t, err := server.TLSConfig(c)
				return func(n net.Listener) error { return a.server.ServeTLS(n, t) }, err
			},
		},
		{
			settings: "[prometheus] bind_address and port",
			about:    []any{"metrics", true},
			wanted: func() (string, string) {
				host, port := anyHost(c.String("prometheus", "bind_address")), c.String("prometheus", "port")
				address := where(c.Bool("prometheus", "additional_port"), net.JoinHostPort(host, port))
				return address, address
			},
			answer: fixed(a.server.ServeMetrics),
		},
		{
			settings: "[eventing] port",
			about:    []any{"functions", true},
			wanted: func() (string, string) {
				address := where(c.String("eventing", "port") != "", beside(c.String("eventing", "port")))
				return address, address
			},
			answer: fixed(a.server.ServeFunctions),
		},
	}
	return l
}

// where is a text where something is so, else "".
func where(so bool, text string) string {
	if !so {
		return ""
	}
	return text
}

// start opens all that are configured, and follows the configuration from then on. Where one cannot
// be opened, others may run already.
func (l *listeners) start(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.ports {
		if err := l.move(ctx, p); err != nil {
			return mend(l.config, p.settings, err)
		}
	}
	l.config.Check(l.check)
	l.config.Subscribe(l.follow)
	return nil
}

// check refuses what the server cannot listen on.
func (l *listeners) check(section, key, value string) error {
	if section != "chttpd" || key != "bind_address" && key != "port" {
		return nil
	}
	host, port := l.config.String("chttpd", "bind_address"), l.config.String("chttpd", "port")
	if key == "port" {
		port = value
	} else {
		host = value
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, now, err := net.SplitHostPort(l.ports[0].open.Addr().String())
	if _, bad := strconv.ParseUint(port, 10, 16); bad == nil && (err != nil || port == now || l.o.byFlag()) {
		// that address is in use, or is for the next start: here only its form can be checked
		port = "0"
	}
	tried, err := listen(context.Background(), net.JoinHostPort(anyHost(host), port))
	if err != nil {
		return err
	}
	return tried.Close()
}

// follow has the ports be where the configuration says. One that cannot be there stays where it is.
func (l *listeners) follow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped {
		return
	}
	for _, p := range l.ports {
		if err := l.move(context.Background(), p); err != nil {
			l.log.Error("not listening as configured", "settings", p.settings, "error", err)
		}
	}
}

// stop ends following, before the server is shut down.
func (l *listeners) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
}

// move opens a port where it is to be, then closes it where it was: connections that it has go on.
func (l *listeners) move(ctx context.Context, p *port) error {
	address, key := p.wanted()
	if key == p.key {
		return nil
	}
	p.key = key
	if address == "" {
		return p.close()
	}
	answer, err := p.answer()
	if err != nil {
		return err
	}
	next, err := listen(ctx, address)
	if errors.Is(err, syscall.EADDRINUSE) && p.open != nil { // perhaps by itself, at another address of the machine
		was := p.open.Addr().String()
		if err := p.close(); err != nil {
			return err
		}
		if next, err = listen(ctx, address); err != nil {
			var again error
			if next, again = listen(ctx, was); again != nil {
				return errors.Join(err, again)
			}
			return errors.Join(err, l.serve(p, next, answer))
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(p.close(), l.serve(p, next, answer))
}

// close ends listening. It waits until the HTTP server has forgotten the listener, which a Shutdown
// at the same time would close once more, and fail.
func (p *port) close() error {
	if p.open == nil {
		return nil
	}
	err := p.open.Close()
	p.open = nil
	<-p.ended
	return err
}

// serve has the connections of a port answered.
func (l *listeners) serve(p *port, opened net.Listener, answer func(net.Listener) error) error {
	if p == l.ports[0] {
		if err := l.showAddress(opened.Addr()); err != nil {
			return errors.Join(err, opened.Close())
		}
		_, p.key = p.wanted()
		l.nodes.Advertise(cmp.Or(l.o.advertise, advertised(opened.Addr())))
	}
	ended := make(chan struct{})
	p.open, p.ended = opened, ended
	l.log.Info("listening", append([]any{"address", opened.Addr().String()}, p.about...)...)
	if p == l.ports[0] {
		l.log.Info("the console is at " + consoleAddress(opened.Addr()))
	}
	l.running.Go(func() {
		defer close(ended)
		err := answer(opened)
		if err == nil || errors.Is(err, net.ErrClosed) { // at the end, or by move
			return
		}
		select {
		case l.failed <- err:
		default:
		}
	})
	return nil
}

// byFlag reports whether a flag has chosen where the server listens. Settings count for the next
// start without one then: set-up scripts store a port with each run, and a server that was told
// another one stays there.
func (o *serveOptions) byFlag() bool { return o.listen != "" || o.bind != "" || o.port != 0 }

// showAddress has the configuration say where the server listens if flags have chosen that, in
// memory only.
func (l *listeners) showAddress(address net.Addr) error {
	if !l.o.byFlag() {
		return nil
	}
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return err
	}
	_, bindErr := l.config.Set("chttpd", "bind_address", host, false)
	_, portErr := l.config.Set("chttpd", "port", port, false)
	return errors.Join(bindErr, portErr)
}

// drain leaves load balancers the time to turn away.
func (l *listeners) drain() error {
	if l.o.drain <= 0 {
		return nil
	}
	l.server.Drain()
	select {
	case err := <-l.failed:
		return err
	case <-time.After(l.o.drain):
		return nil
	}
}

// advertised is the URL of an address that the server listens on, with the machine's name for all
// addresses.
func advertised(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		if host, err = os.Hostname(); err != nil {
			return ""
		}
	}
	return "http://" + net.JoinHostPort(host, port)
}

// consoleAddress is where a browser on this machine finds the console.
func consoleAddress(address net.Addr) string {
	host, port, _ := net.SplitHostPort(address.String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, port) + console.Mount + "/"
}

// listen opens a port, which has to be a number: an empty one would be any. An address of IPv4 is
// only that, as in CouchDB; "" and :: are all addresses of both. Servers of names have lookupTime
// to answer.
func listen(ctx context.Context, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, fmt.Errorf("%q is no port, a number from 0 to 65535 is expected", port)
	}
	network := "tcp"
	if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
		network = "tcp4" // of which 0.0.0.0 would also be all addresses of IPv6
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	var l net.ListenConfig
	return l.Listen(ctx, network, address)
}

// mend adds to what keeps the server from starting which settings do, and where those made over
// HTTP can be changed while it does not run.
func mend(c *config.Config, settings string, err error) error {
	if file := c.File(); file != "" {
		return fmt.Errorf("%s: %w; what was set over HTTP can be changed in %s", settings, err, file)
	}
	return fmt.Errorf("%s: %w", settings, err)
}

// address is where the server listens: what the command line says goes before the settings.
func (o serveOptions) address(c *config.Config) string {
	if o.listen != "" {
		return o.listen
	}
	host, port := c.String("chttpd", "bind_address"), c.String("chttpd", "port")
	if o.bind != "" {
		host = o.bind
	}
	if o.port != 0 {
		port = strconv.Itoa(o.port)
	}
	return net.JoinHostPort(anyHost(host), port)
}

// anyHost is the address to listen on for one of the configuration, where any is all.
func anyHost(host string) string {
	if host == "any" {
		return ""
	}
	return host
}
