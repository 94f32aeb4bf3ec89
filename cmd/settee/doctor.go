package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/storage/kv/pebblekv"
)

// The severities of a finding: something does not work or is about to; it will hurt; it is worth to
// be known. The first two are those of the overview's warnings.
const (
	critical = "critical"
	serious  = "warning"
	notice   = "notice"
)

// When numbers are worth a finding. The first three are those of the overview's warnings.
const (
	diskFilling    = 85 // percent that are used
	diskNearlyFull = 95
	fewFiles       = 4096
	clocksApart    = 10 * time.Second
	swapUsed       = 10                  // percent of the memory that are on disk
	scanned        = 100                 // documents that queries read for one that they return
	unused         = 30 * 24 * time.Hour // how long no query has used an index
)

// How much of a server is asked for indexes that nobody uses.
const (
	databasesAsked = 200
	designsAsked   = 100 // design documents that are older than a month
)

// finding is something that needs somebody to act; ID names its kind, for programs.
type finding struct {
	ID       string `json:"id"`
	Severity string `json:"severity"`
	Subject  string `json:"subject"` // what it is about, of several of a kind
	Text     string `json:"text"`
	Do       string `json:"do"`
	Doc      string `json:"doc"`
}

// diagnosis is what a doctor says. One goroutine uses it.
type diagnosis struct {
	Findings  []finding   `json:"findings"`
	Looked    []string    `json:"looked_at"`
	NotLooked []notLooked `json:"not_looked_at"`
}

// notLooked is a check that could not be made.
type notLooked struct {
	What  string `json:"what"`
	Error string `json:"error"`
}

// doctorCommand is "settee doctor".
func doctorCommand() *cobra.Command {
	var o appOptions
	var address string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at a machine and its configuration, or at a running settee, and say what will hurt",
		Long: `Look at a machine and its configuration, or at a running settee, and say what will hurt.

Without --url it looks at this machine, the ini files and the data directory, as the user and with the environment that it
is started with: those should be the server's. With --url it asks a server, and looks at the machine only where --config
or --data is given too. A name and password of an administrator may be part of the URL, or be in COUCHDB_USER and
COUCHDB_PASSWORD. Nothing is changed.

The exit status is 0 if there is nothing but notices, 1 if there are findings, and 2 if there are none but something could
not be looked at.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.dataChosen = cmd.Flags().Changed("data")
			var d diagnosis
			if address != "" {
				d.server(cmd.Context(), address)
			}
			if address == "" || o.dataChosen || cmd.Flags().Changed("config") {
				d.machine(&o, "/proc")
			}
			return d.report(cmd.OutOrStdout(), asJSON)
		},
	}
	cmd.Flags().StringVar(&address, "url", "", "URL of a running server to ask")
	cmd.Flags().StringVar(&o.dataDir, "data", "./data", "data directory")
	cmd.Flags().StringSliceVar(&o.configFiles, "config", nil, "ini files and directories of them, as of serve")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// check makes one check and notes what it found, or that it could not be made; it may do both.
func (d *diagnosis) check(what string, found []finding, err error) {
	d.Findings = append(d.Findings, found...)
	if err != nil {
		d.NotLooked = append(d.NotLooked, notLooked{what, err.Error()})
		return
	}
	d.Looked = append(d.Looked, what)
}

// machine looks at where this process runs; proc is where the kernel tells of itself.
func (d *diagnosis) machine(o *appOptions, proc string) {
	for _, name := range o.configFiles { // a server takes a missing one as empty
		if _, err := os.Stat(name); err != nil {
			d.check("ini file", nil, err)
		}
	}
	c, err := loadConfig(o)
	if err != nil {
		d.check("settings", nil, err)
	} else {
		d.check("settings", slices.Concat(judgeSettings(c.Known()), judgeStart(c)), nil)
		found, err := judgeMemory(c.String("settee", "memory"), allowedMemory())
		d.check("memory", found, err)
	}
	found, err := judgeFiles(openFiles())
	d.check("open files", found, err)
	text, err := os.ReadFile(filepath.Join(proc, "meminfo"))
	if err == nil {
		found, err = judgeSwap(string(text))
	}
	d.check("swap", found, err)
	dir, err := existing(o.dataDir)
	if err != nil {
		d.check("data directory", nil, err)
		return
	}
	size, free, err := pebblekv.Volume(dir)
	d.check("disk space", judgeDisk(float64(size), float64(free)), err)
	if text, err = os.ReadFile(filepath.Join(proc, "self", "mountinfo")); err == nil {
		found, err = judgeFileSystem(string(text), dir)
	}
	d.check("file system", found, err)
	found, err = judgeClock(dir, time.Now())
	d.check("clock", found, err)
}

// existing is the directory, or the nearest one above it that there is, without symbolic links.
func existing(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	for err == nil {
		path, missing := filepath.EvalSymlinks(dir)
		if !errors.Is(missing, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return path, missing
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// judgeFiles: how many files the process may have open, 0 for what is not known.
func judgeFiles(most int64) ([]finding, error) {
	switch {
	case most <= 0:
		return nil, errors.New("this system does not tell how many files may be open")
	case most >= fewFiles:
		return nil, nil
	}
	return []finding{{
		ID: "few_files", Severity: serious,
		Text: fmt.Sprintf("A process may have only %d files open, and connections are such.", most),
		Do:   "Raise the limit (ulimit -n, LimitNOFILE= of the service) to 65536.",
		Doc:  "docs/operations.md#limits",
	}}, nil
}

// judgeMemory compares settee/memory with what the control group, limits and the machine allow.
func judgeMemory(setting string, allowed int64) ([]finding, error) {
	if allowed <= 0 || allowed == math.MaxInt64 {
		return nil, errors.New("how much memory there is cannot be told")
	}
	n := bytesOf(setting)
	f := finding{Subject: "[settee] memory", Severity: serious, Doc: "docs/operations.md#memory"}
	switch {
	case n == 0 && setting != "" && setting != "auto":
		f.ID, f.Text = "setting_not_a_number", fmt.Sprintf("%q is no number of bytes, and counts as auto.", setting)
		f.Do = "Write the bytes as a number without a unit, or auto."
	case n <= memoryOf(allowed):
		return nil, nil
	default:
		f.ID, f.Text = "memory_beyond_limit", fmt.Sprintf("The server may take %s of the %s that this machine or "+
			"container allows; JavaScript workers and the system need the rest.", byteText(float64(n)),
			byteText(float64(allowed)))
		f.Do = fmt.Sprintf("Set it to %d or less, or to auto, or allow more.", memoryOf(allowed))
		if n >= allowed {
			f.Severity = critical
			f.Text += " The kernel will end it."
		}
	}
	return []finding{f}, nil
}

// judgeSwap reads /proc/meminfo: parts of memory that are on disk.
func judgeSwap(text string) ([]finding, error) {
	kilobytes := map[string]float64{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line) // a name with a colon, a number, and a unit that is kB
		if len(words) < 2 {
			continue
		}
		if n, err := strconv.ParseUint(words[1], 10, 64); err == nil {
			kilobytes[strings.TrimSuffix(words[0], ":")] = float64(n)
		}
	}
	total, known := kilobytes["MemTotal"]
	free, told := kilobytes["SwapFree"]
	used := kilobytes["SwapTotal"] - free
	switch {
	case !known || !told:
		return nil, errors.New("meminfo does not tell of memory and swap")
	case used <= total/100*swapUsed:
		return nil, nil
	}
	return []finding{{
		ID: "memory_swapped", Severity: serious,
		Text: fmt.Sprintf("%s of memory are swapped out to disk: requests wait for what is there.", byteText(used*1024)),
		Do:   "Give the machine more memory, or what runs on it less ([settee] memory); then swapoff and swapon.",
		Doc:  "docs/operations.md#memory",
	}}, nil
}

// judgeDisk: the space of the file system with the data, in bytes.
func judgeDisk(total, free float64) []finding {
	used := math.Ceil(100 * (1 - free/total)) // NaN where it is not known, which the caller tells
	if !(used >= diskFilling) {
		return nil
	}
	f := finding{
		ID: "disk_nearly_full", Severity: serious,
		Text: fmt.Sprintf("The file system of the data is %.0f %% full: %s of %s are free.", used, byteText(free),
			byteText(total)),
		Do:  "Delete what is not needed, or move the data to a larger volume.",
		Doc: "docs/operations.md#before-it-is-full",
	}
	if used >= diskNearlyFull {
		f.Severity = critical
		f.Text += " Without space writes are refused."
	}
	return []finding{f}
}

// judgeFileSystem reads /proc/self/mountinfo: what kind of file system a directory is on. Fields are
// those of proc_pid_mountinfo(5); of mounts above the directory the longest counts, of those the last.
func judgeFileSystem(text, dir string) ([]finding, error) {
	longest, kind := "", ""
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(text) {
		left, right, _ := strings.Cut(line, " - ")
		before, after := strings.Fields(left), strings.Fields(right)
		if len(before) < 5 || len(after) == 0 {
			continue
		}
		point := unescape.Replace(before[4])
		above := dir == point || strings.HasPrefix(dir, strings.TrimSuffix(point, "/")+"/")
		if above && len(point) >= len(longest) {
			longest, kind = point, after[0]
		}
	}
	f := finding{Severity: critical, Subject: dir, Doc: "docs/operations.md#data-directory"}
	switch kind {
	case "":
		return nil, errors.New("mountinfo does not tell which file system it is on")
	case "tmpfs", "ramfs":
		f.ID, f.Text = "data_in_memory", "The data is on "+kind+": it is gone when the machine starts again."
		f.Do = "Use a directory on a disk (--data, [couchdb] database_dir)."
	case "overlay", "aufs":
		f.ID, f.Text = "data_in_container", "The data is on a container's own layer: it is gone with the container."
		f.Do = "Mount a volume at the data directory."
	case "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "fuse.sshfs", "fuse.s3fs", "fuse.glusterfs":
		f.ID, f.Severity = "data_over_network", serious
		f.Text = "The data is on " + kind + ": each commit waits for another machine, which may forget what it has confirmed."
		f.Do = "Use a local disk, or a block device."
	default:
		return nil, nil
	}
	return []finding{f}, nil
}

// judgeClock looks for files of the data directory that are of the future: the clock went back.
func judgeClock(dir string, now time.Time) ([]finding, error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil { // gone since
			continue
		}
		if ahead := info.ModTime().Sub(now); ahead > clocksApart {
			return []finding{clockFinding(e.Name(), fmt.Sprintf("A file of the data directory is from %s after now: "+
				"the clock was ahead, or is behind.", ahead.Round(time.Second)))}, nil
		}
	}
	return nil, err
}

// clockFinding is that of a clock which is wrong.
func clockFinding(subject, text string) finding {
	return finding{
		ID: "clock_wrong", Severity: serious, Subject: subject, Text: text + " Sessions and timers are early or late.",
		Do: "Have the machine follow a time server (systemd-timesyncd, chrony).", Doc: "docs/cluster.md#what-it-takes",
	}
}

// judgeStart: what a start with these files would warn of.
func judgeStart(c *config.Config) (found []finding) {
	for name, means := range c.WithoutEffect() {
		found = append(found, finding{
			ID: "setting_without_effect", Severity: serious, Subject: name, Text: "It has no effect. " + means,
			Do:  "Remove it, unless a CouchDB reads the same files.",
			Doc: "docs/configuration.md#settings-of-couchdb-without-effect",
		})
	}
	if len(c.Section("admins")) == 0 && (os.Getenv("COUCHDB_USER") == "" || os.Getenv("COUCHDB_PASSWORD") == "") {
		found = append(found, finding{
			ID: "no_admin", Severity: serious, Text: "There is nobody in [admins]: the first start makes an administrator up.",
			Do: "Name one there, or in COUCHDB_USER and COUCHDB_PASSWORD.", Doc: "docs/configuration.md#admins",
		})
	}
	if secret, _ := c.Get("chttpd_auth", "secret"); secret == "" && os.Getenv("COUCHDB_SECRET") == "" {
		found = append(found, finding{
			ID: "secret_missing", Severity: notice,
			Text: "There is no secret of sessions yet: the first login makes one. Several nodes need the same.",
			Do:   "Set [chttpd_auth] secret to a random text (COUCHDB_SECRET).", Doc: "docs/configuration.md#chttpd_auth",
		})
	}
	sort.Slice(found, func(i, j int) bool { return found[i].ID+found[i].Subject < found[j].ID+found[j].Subject })
	return found
}

// judgeSettings finds settings that nobody knows, and those that let in more than most would want.
func judgeSettings(list []config.Known) (found []finding) {
	value := map[string]string{}
	for _, k := range list {
		value[k.Section+"/"+k.Key] = k.Value
		if k.Means == "" && k.Origin != config.OriginDefault {
			found = append(found, finding{
				ID: "setting_unknown", Severity: serious, Subject: "[" + k.Section + "] " + k.Key,
				Text: strings.TrimSpace("Nobody knows this setting. " + k.From), Do: "Correct its name, or remove it.",
				Doc: "docs/configuration.md",
			})
		}
	}
	add := func(wrong bool, severity, name, text, do string) {
		if wrong {
			found = append(found, finding{ID: "unsafe_setting", Severity: severity, Subject: name, Text: text, Do: do,
				Doc: "docs/security.md"})
		}
	}
	origins := strings.Fields(strings.ReplaceAll(value["cors/origins"], ",", " "))
	add(value["chttpd/enable_cors"] == "true" && value["cors/credentials"] == "true" && slices.Contains(origins, "*"),
		serious, "[cors] origins", "Pages of all origins may act as whoever is logged in.",
		"Name the origins, or set credentials to false.")
	add(strings.Contains(value["chttpd/authentication_handlers"], "proxy_authentication_handler") &&
		value["chttpd_auth/proxy_use_secret"] != "true", critical, "[chttpd_auth] proxy_use_secret",
		"Whoever reaches the server may say that they are anybody: headers of a proxy are believed without a token.",
		"Set it to true, and have the proxy sign its headers.")
	add(value["couchdb/default_security"] == "everyone", serious, "[couchdb] default_security",
		"Everybody may read and write a new database, without a name.", "Set it to admin_only.")
	private := []string{"", "127.0.0.1", "::1", "localhost"} // "": it was not told
	add(!slices.Contains(private, value["chttpd/bind_address"]) && value["ssl/enable"] != "true", notice,
		"[chttpd] bind_address", "Passwords cross the network in clear, unless a proxy in front of the server encrypts.",
		"Set [ssl] enable, or have a proxy do HTTPS.")
	return found
}

// server asks a running one.
func (d *diagnosis) server(ctx context.Context, address string) {
	s, rest, err := parseSite(address)
	if err == nil && rest != "" {
		err = fmt.Errorf("the URL of a server is expected, without /%s", rest)
	}
	if err != nil {
		d.check("server", nil, err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	// Known's rows are for administrators only, as the overview's warnings are, which others get none of.
	var settings struct{ Settings []config.Known }
	admin := s.GetJSON(ctx, "/_node/_local/_settings", &settings)
	d.check("settings of the server", judgeSettings(settings.Settings), admin)
	var o nodeOverview
	if err = cmp.Or(admin, s.GetJSON(ctx, "/_node/_local/_overview", &o)); err == nil {
		d.check("warnings of the server", o.Warnings, nil)
		found := []finding(nil)
		if apart := time.Since(time.Unix(o.Now, 0)); apart.Abs() > clocksApart {
			found = append(found, clockFinding("", fmt.Sprintf("The server's clock and this machine's are %s apart.",
				apart.Abs().Round(time.Second))))
		}
		d.check("clock of the server", found, nil)
	} else {
		d.check("warnings and clock of the server", nil, err)
	}
	var stats struct {
		Examined  struct{ Value float64 }  `json:"docs_examined"`
		Returned  struct{ Value float64 }  `json:"results_returned"`
		Unindexed *struct{ Value float64 } `json:"unindexed_queries"`
	}
	err = s.GetJSON(ctx, "/_node/_local/_stats/mango", &stats)
	switch {
	case err != nil:
		d.check("queries", nil, err)
	case stats.Unindexed == nil:
		d.check("queries", nil, errors.New("the server does not count them"))
	default:
		d.check("queries", judgeQueries(stats.Examined.Value, stats.Returned.Value, stats.Unindexed.Value), nil)
	}
	found, err := unusedIndexes(ctx, s, time.Now())
	d.check("indexes", found, err)
}

// report prints the findings, the worst first, and what was looked at. The error counts them.
func (d *diagnosis) report(out io.Writer, asJSON bool) (err error) {
	order := []string{critical, serious, notice}
	slices.SortStableFunc(d.Findings, func(a, b finding) int {
		return slices.Index(order, a.Severity) - slices.Index(order, b.Severity)
	})
	if asJSON {
		d.Findings, d.NotLooked = append([]finding{}, d.Findings...), append([]notLooked{}, d.NotLooked...)
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(d)
	} else {
		_, err = io.WriteString(out, d.text())
	}
	worse := 0
	for _, f := range d.Findings {
		if f.Severity != notice {
			worse++
		}
	}
	// Findings count more than what could not be looked at: they are certain.
	switch {
	case err != nil:
		return err
	case worse > 0:
		return fmt.Errorf("findings that need somebody to act: %d", worse)
	case len(d.NotLooked) > 0:
		return &exitError{errors.New("nothing found, but not everything could be looked at"), 2}
	}
	return nil
}

// text is the report for people; nothing in it moves a cursor.
func (d *diagnosis) text() string {
	var lines []string
	for _, f := range d.Findings {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%-8s %s %s", f.Severity, f.ID, f.Subject), " "),
			"         "+f.Text, "         To do: "+f.Do+" ("+f.Doc+")")
	}
	for _, n := range d.NotLooked {
		lines = append(lines, "NOT LOOKED AT: "+n.What+": "+n.Error)
	}
	lines = append(lines, "Looked at: "+strings.Join(d.Looked, ", ")+".")
	for i := range lines {
		lines[i] = cut(lines[i], math.MaxInt)
	}
	return strings.Join(lines, "\n") + "\n"
}
