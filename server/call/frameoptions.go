package call

import (
	"net/http"
	"slices"

	"github.com/settee-db/settee/config"
)

// frameOptions say which pages may show answers in a frame (chttpd_xframe_options). A nil
// *frameOptions sets no header.
type frameOptions struct {
	sameOrigin bool
	hosts      []string
}

// readFrameOptions gives nil where the header is off, which it is unless it is switched on.
func readFrameOptions(c *config.Config) *frameOptions {
	if !c.Bool("chttpd", "enable_xframe_options") {
		return nil
	}
	return &frameOptions{
		sameOrigin: c.Bool("x_frame_options", "same_origin"),
		hosts:      SplitList(c.String("x_frame_options", "hosts")),
	}
}

// addFrameOptions sets X-Frame-Options: SAMEORIGIN, the server's own address if it is a listed
// host, else DENY.
func (a *Answer) addFrameOptions(h http.Header) {
	o := a.head.Settings.frames
	if o == nil {
		return
	}
	value := "DENY"
	if o.sameOrigin {
		value = "SAMEORIGIN"
	} else if host := a.head.BaseURL(); slices.Equal(o.hosts, []string{"*"}) || slices.Contains(o.hosts, host) {
		value = "ALLOW-FROM " + host
	}
	h["X-Frame-Options"] = []string{value}
}
