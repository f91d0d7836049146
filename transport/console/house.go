package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
)

// Host is one process that serves plugins of this state folder.
type Host struct {
	ID      string   `json:"id"`
	Dir     string   `json:"dir"`     // its plugin folder
	Clients []string `json:"clients"` // as they call themselves
	Plugins []Plugin `json:"plugins"`
}

// Plugin is one plugin as the page shows it.
type Plugin struct {
	Name    string   `json:"name"`
	State   string   `json:"state"`
	Version string   `json:"version"`
	Error   string   `json:"error"`
	Wants   []string `json:"wants"`  // lines, with the reason behind them
	Grants  []string `json:"grants"` // the lines of the operator's file
	// Ceilings are lists of lines, of which each has to cover what the plugin does, whatever else allows it.
	Ceilings [][]string `json:"ceilings"`
	Waits    string     `json:"waits"` // the digest of bytes that wait for an answer; empty if none do
}

// Review is what a person is asked about a plugin that is held.
type Review struct {
	Text string `json:"text"` // what is new about it
	// Answers are those that hold for the bytes before: an approval says whether they are to hold for the new ones too.
	Answers []string `json:"answers"`
	Seen    string   `json:"seen"` // names all this: an answer is for what was shown
}

// Verdict is what a person says to a Review.
type Verdict struct{ Approve, Carry bool }

// Proposal is a line that is to be added to a configuration file.
type Proposal struct {
	File  string   `json:"file"`
	Lines []string `json:"lines"` // that change: as they were behind "- ", and as they will be behind "+ "
	Note  string   `json:"note"`
	Seen  string   `json:"seen"` // names what is shown
}

// ErrChanged says that what was shown is not what is there any more.
var ErrChanged = errors.New("it has changed since it was shown: look at it again")

// House is what the page shows of the hosts of a state folder, and what it does beside answering questions. It is safe
// for concurrent use; hosts are named by Host.ID, those that run no more are an error.
type House interface {
	// Hosts are those that run.
	Hosts() []Host
	// Calls are the last ones of all hosts, also of those that have ended, the youngest first.
	Calls() ([]Call, error)
	// Review says what is new about a plugin that is held.
	Review(ctx context.Context, host, plugin string) (Review, error)
	// Decide approves or rejects what a Review has shown; with an approval its Answers are carried over to the new bytes, or
	// forgotten. ErrChanged: it is not that any more.
	Decide(ctx context.Context, host, plugin, seen string, v Verdict) error
	// Propose says how a line is added to the grants of a plugin. An empty host is the one that has the plugin.
	Propose(host, plugin, line string) (Proposal, error)
	// Grant adds what a Proposal has shown; ErrChanged: it is not that any more.
	Grant(host, plugin, line, seen string) error
}

// nobody is a House without hosts.
type nobody struct{}

var errNobody = errors.New("no host runs that could do that")

func (nobody) Hosts() []Host          { return nil }
func (nobody) Calls() ([]Call, error) { return nil, nil }
func (nobody) Review(context.Context, string, string) (Review, error) {
	return Review{}, errNobody
}
func (nobody) Decide(context.Context, string, string, string, Verdict) error { return errNobody }
func (nobody) Propose(string, string, string) (Proposal, error)              { return Proposal{}, errNobody }
func (nobody) Grant(string, string, string, string) error                    { return errNobody }

// order is what the page asks the house to do.
type order struct {
	Do                       string // review, approve, reject, propose, grant
	Host, Plugin, Line, Seen string
	Carry                    bool // with approve
}

// obey does what a person ordered.
func (c *Console) obey(r *http.Request) (any, int, error) {
	raw, err := bodyOf(r)
	var o order
	if err != nil || json.Unmarshal(raw, &o) != nil {
		return nil, http.StatusBadRequest, errors.New("an order is a short JSON object")
	}
	var answer any = struct{}{}
	house := c.opts.House
	switch o.Do {
	case "review":
		answer, err = house.Review(r.Context(), o.Host, o.Plugin)
	case "approve", "reject":
		err = house.Decide(r.Context(), o.Host, o.Plugin, o.Seen, Verdict{Approve: o.Do == "approve", Carry: o.Do == "approve" && o.Carry})
	case "propose":
		answer, err = house.Propose(o.Host, o.Plugin, o.Line)
	case "grant":
		err = house.Grant(o.Host, o.Plugin, o.Line, o.Seen)
	default:
		return nil, http.StatusBadRequest, errors.New("an order is review, approve, reject, propose or grant")
	}
	if errors.Is(err, ErrChanged) {
		return nil, http.StatusConflict, err
	}
	if err != nil {
		return nil, http.StatusUnprocessableEntity, err
	}
	return answer, http.StatusOK, nil
}
