package measure

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"time"
)

// nodeProgram follows a feed in a function's place, as follower.go does, for those who would write
// that for Node.
//
//go:embed nodefollower.js
var nodeProgram string

// nodeTask is the program's input, as JSON.
type nodeTask struct {
	Host     string `json:"host"`
	Port     string `json:"port"`
	Auth     string `json:"auth"`
	Source   string `json:"source"`
	Target   string `json:"target"` // "": it copies nothing
	Alone    bool   `json:"alone"`  // with a PUT for each document
	Together int    `json:"together"`
	Count    int64  `json:"count"` // documents after which it has done its work; 0: it goes on
	Limit    int64  `json:"limit"` // milliseconds after which it has, too
}

// nodeFollower is the program at work.
type nodeFollower struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	said  *bufio.Scanner
}

// nodeMessage is a line of the program's output, as JSON.
type nodeMessage struct {
	Ready, Open bool
	Done        int64
	Error       string
}

// startNode starts the program and waits until it is ready for its task.
func (s *session) startNode(ctx context.Context) (_ *nodeFollower, err error) {
	f := &nodeFollower{cmd: exec.CommandContext(ctx, s.node, "-e", nodeProgram)}
	if f.stdin, err = f.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	f.said = bufio.NewScanner(out)
	if err := f.cmd.Start(); err != nil {
		return nil, err
	}
	if m, err := f.next(); err != nil || !m.Ready {
		return nil, errors.Join(fmt.Errorf("%s is not ready: %w", s.node, err), f.stop())
	}
	return f, nil
}

// next waits for a message.
func (f *nodeFollower) next() (m nodeMessage, err error) {
	if !f.said.Scan() {
		return m, errors.Join(errors.New("the program in Node has ended"), f.said.Err())
	}
	if err := json.Unmarshal(f.said.Bytes(), &m); err != nil {
		return m, fmt.Errorf("the program in Node says %.100q: %w", f.said.Bytes(), err)
	}
	if m.Error != "" {
		return m, errors.New("the program in Node: " + m.Error)
	}
	return m, nil
}

// begin gives the program its task, and waits until the feed is open.
func (f *nodeFollower) begin(s *session, task *nodeTask) error {
	var err error
	if task.Host, task.Port, err = net.SplitHostPort(s.target.Addr); err != nil {
		return err
	}
	task.Auth, task.Together = s.target.Auth, followedTogether
	if err := json.NewEncoder(f.stdin).Encode(task); err != nil {
		return err
	}
	m, err := f.next()
	if err == nil && !m.Open {
		err = errors.New("the feed was not opened")
	}
	return err
}

// stop ends the program.
func (f *nodeFollower) stop() error {
	f.stdin.Close()
	return f.cmd.Wait()
}

// followAll has the program follow the database of the views until it has seen all documents, or
// time is up.
func (f *nodeFollower) followAll(s *session, target string, alone bool) (out sample, err error) {
	before, err := usageOf(f.cmd.Process.Pid)
	if err != nil {
		return out, err
	}
	m, err := startMeter(s.target)
	if err != nil {
		return out, err
	}
	start := time.Now()
	err = f.begin(s, &nodeTask{
		Source: s.db(viewDB), Target: target, Alone: alone, Count: s.size.viewDocuments,
		Limit: followLimit.Milliseconds(),
	})
	var end nodeMessage
	if err == nil {
		end, err = f.next()
	}
	elapsed := time.Since(start)
	used, stopErr := m.stop()
	after, usageErr := usageOf(f.cmd.Process.Pid)
	if err := errors.Join(err, stopErr, usageErr); err != nil {
		return out, err
	}
	used.clientCPU += after.cpu - before.cpu
	return sample{units: end.Done, value: float64(end.Done) / elapsed.Seconds(), used: used}, nil
}
