package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// Host is one process that serves plugins of this state folder.
type Host struct {
	ID      string   `json:"id"`
	Dir     string   `json:"dir"`     // its plugin folder
	Clients []string `json:"clients"` // names that the clients report
	Plugins []Plugin `json:"plugins"`
}

// Plugin is one plugin as the page shows it.
type Plugin struct {
	Name    string   `json:"name"`
	State   string   `json:"state"`
	Version string   `json:"version"`
	Error   string   `json:"error"`
	Wants   []string `json:"wants"`  // lines with the plugin's reasons
	Grants  []string `json:"grants"` // lines of the operator's configuration
	// Ceilings are lists of lines. Each list must cover an effect, in addition to any grant.
	Ceilings [][]string `json:"ceilings"`
	Waits    string     `json:"waits"`    // digest of the plugin's bytes that await approval; empty if none do
	Rejected bool       `json:"rejected"` // they were rejected, and need no answer
}

// Review describes a held plugin for the operator's decision.
type Review struct {
	Text string `json:"text"` // its changes
	// Answers are the answers to the earlier bytes. An approval decides whether they are carried over to the new
	// ones.
	Answers []string `json:"answers"`
	Seen    string   `json:"seen"` // identifies the shown content: a decision applies only to it
}

// Verdict is the operator's decision on a Review.
type Verdict struct{ Approve, Carry bool }

// Proposal is a line to be added to a configuration file.
type Proposal struct {
	File  string   `json:"file"`
	Lines []string `json:"lines"` // changed lines, prefixed by "- " (before) and "+ " (after)
	Note  string   `json:"note"`
	Seen  string   `json:"seen"` // identifies the shown content
}

// Offer describes a plugin that is not installed, for the operator's decision.
type Offer struct {
	Name  string   `json:"name"`
	Text  string   `json:"text"`  // its source, signer, size, entries and wants
	Wants []Wanted `json:"wants"` // that can be granted with the installation
	Seen  string   `json:"seen"`  // identifies the shown content and the bytes: a decision applies only to them
}

// Wanted is a line that a plugin wants, with its reason.
type Wanted struct {
	Line string `json:"line"`
	Why  string `json:"why"`
}

// ErrChanged is returned if the shown content is outdated.
var ErrChanged = errors.New("it has changed since it was shown: look at it again")

// Backend provides the hosts of a state folder, and the actions of the page besides answering questions. It is safe for
// concurrent use. Hosts are identified by Host.ID. A host that has ended is an error.
type Backend interface {
	// Hosts returns the running hosts.
	Hosts() []Host
	// Calls returns the most recent calls of all hosts, including ended ones, newest first.
	Calls() ([]Call, error)
	// Find returns the calls of the whole audit log that name a word, in any case: the newest, as many as Calls
	// returns, newest first.
	Find(ctx context.Context, word string) ([]Call, error)
	// Receipt returns the lines of the audit log of one call, as indented JSON. An unknown call is an error.
	Receipt(ctx context.Context, call string) (text string, err error)
	// Review describes the changes of a held plugin.
	Review(ctx context.Context, host, plugin string) (Review, error)
	// Decide approves or rejects the plugin bytes of a Review. An approval carries its Answers over to the new bytes,
	// or removes them. The error is ErrChanged if the review is outdated.
	Decide(ctx context.Context, host, plugin, seen string, v Verdict) error
	// Propose returns the change that adds a line to the grants of a plugin. An empty host selects the one that has
	// the plugin.
	Propose(host, plugin, line string) (Proposal, error)
	// Grant applies a Proposal. The error is ErrChanged if it is outdated.
	Grant(host, plugin, line, seen string) error
	// Offer fetches the plugin of a link, which is one of the web or of an OCI registry or a name of an index, for the
	// folder of a host. It installs nothing.
	Offer(ctx context.Context, host, link string) (Offer, error)
	// Install fetches the plugin of an Offer again and installs it with some of its wants. It returns the report. The
	// error is ErrChanged if the link has other bytes by now, or the Offer would be another.
	Install(ctx context.Context, host, link, seen string, lines []string) (text string, err error)
}

// nobody is a Backend without hosts.
type nobody struct{}

var errNobody = errors.New("no host runs that could do that")

func (nobody) Hosts() []Host          { return nil }
func (nobody) Calls() ([]Call, error) { return nil, nil }
func (nobody) Find(context.Context, string) ([]Call, error) {
	return nil, errNobody
}
func (nobody) Receipt(context.Context, string) (string, error) { return "", errNobody }
func (nobody) Review(context.Context, string, string) (Review, error) {
	return Review{}, errNobody
}
func (nobody) Decide(context.Context, string, string, string, Verdict) error { return errNobody }
func (nobody) Propose(string, string, string) (Proposal, error)              { return Proposal{}, errNobody }
func (nobody) Grant(string, string, string, string) error                    { return errNobody }
func (nobody) Offer(context.Context, string, string) (Offer, error)          { return Offer{}, errNobody }
func (nobody) Install(context.Context, string, string, string, []string) (string, error) {
	return "", errNobody
}

// order is an action of the page on the Backend.
type order struct {
	Do                       string // review, approve, reject, propose, grant, find, receipt, offer, install
	Host, Plugin, Line, Seen string
	Word                     string   // with find
	Call                     string   // with receipt
	Carry                    bool     // with approve
	Link                     string   // with offer and install
	Lines                    []string // with install
}

// orderTime bounds the time for an order: a plugin may be fetched from far away.
const orderTime = 5 * time.Minute

// obey performs an order.
func (c *Console) obey(r *http.Request) (any, int, error) {
	raw, err := bodyOf(r)
	var o order
	if err != nil || json.Unmarshal(raw, &o) != nil {
		return nil, http.StatusBadRequest, errors.New("an order is a short JSON object")
	}
	var answer any = struct{}{}
	backend := c.opts.Backend
	switch o.Do {
	case "review":
		answer, err = backend.Review(r.Context(), o.Host, o.Plugin)
	case "approve", "reject":
		err = backend.Decide(r.Context(), o.Host, o.Plugin, o.Seen, Verdict{Approve: o.Do == "approve", Carry: o.Do == "approve" && o.Carry})
	case "propose":
		answer, err = backend.Propose(o.Host, o.Plugin, o.Line)
	case "grant":
		err = backend.Grant(o.Host, o.Plugin, o.Line, o.Seen)
	case "find":
		answer, err = backend.Find(r.Context(), o.Word)
	case "receipt":
		var text string
		text, err = backend.Receipt(r.Context(), o.Call)
		answer = map[string]string{"text": text}
	case "offer":
		answer, err = backend.Offer(r.Context(), o.Host, o.Link)
	case "install":
		var text string
		text, err = backend.Install(r.Context(), o.Host, o.Link, o.Seen, o.Lines)
		answer = map[string]string{"text": text}
	default:
		return nil, http.StatusBadRequest, errors.New("an order is review, approve, reject, propose, grant, find, receipt, offer or install")
	}
	if errors.Is(err, ErrChanged) {
		return nil, http.StatusConflict, err
	}
	if err != nil {
		return nil, http.StatusUnprocessableEntity, err
	}
	return answer, http.StatusOK, nil
}
