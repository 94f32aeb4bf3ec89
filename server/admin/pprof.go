package admin

import (
	"net/http"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/server/call"
)

// longestProfile bounds how long one request may watch the process.
const longestProfile = time.Minute

// getProfile answers a profile of the process in pprof's form: profile (CPU), trace, or one of
// runtime/pprof's own: heap, goroutine, allocs, block, mutex, threadcreate. seconds says how long
// the first two watch.
func getProfile(c *call.Call) error {
	if err := checkNode(c); err != nil {
		return err
	}
	name := c.Segment(3)
	c.SetHeader("Content-Type", "application/octet-stream")
	if name != "profile" && name != "trace" {
		p := pprof.Lookup(name)
		if p == nil {
			return compat.ErrMissing
		}
		s := c.RawStream(http.StatusOK)
		if err := p.WriteTo(s, 0); err != nil {
			return err
		}
		return s.Close()
	}
	watch := 10 * time.Second
	if text, ok := c.Query.First("seconds"); ok {
		n, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return compat.NewError(compat.KindQueryParse, "Invalid value for seconds")
		}
		watch = min(time.Duration(n)*time.Second, longestProfile)
	}
	s := c.RawStream(http.StatusOK)
	start, stop := pprof.StartCPUProfile, pprof.StopCPUProfile
	if name == "trace" {
		start, stop = trace.Start, trace.Stop
	}
	if err := start(s); err != nil {
		return compat.NewError(compat.KindConflict, err.Error())
	}
	select {
	case <-time.After(watch):
	case <-c.Context().Done():
	case <-c.Env.Stopping():
	}
	stop()
	return s.Close()
}
