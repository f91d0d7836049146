package console

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/sallyport-mcp/sallyport/hostfuncs/form"
	"github.com/sallyport-mcp/sallyport/hostfuncs/operator"
	"github.com/sallyport-mcp/sallyport/hostfuncs/store"
)

// asked is a form that waits. Message and Fields are the plugin's words.
type asked struct {
	ID        string       `json:"id"`
	Plugin    string       `json:"plugin"`
	Digest    string       `json:"digest"`
	Principal string       `json:"principal"`
	Message   string       `json:"message"`
	URL       string       `json:"url"`
	Fields    []form.Field `json:"fields"`
	Asked     time.Time    `json:"asked"`
}

// answerForm answers a form with what was typed on the page, where the form's own values stood in their places.
func (c *Console) answerForm(ctx context.Context, id, action string, values []form.Value) (any, int, error) {
	f, err := form.Get(ctx, c.opts.Store, id)
	var content []byte
	if err == nil && action == form.Accept && f.URL() == "" {
		if content, err = f.Fill(values, false); err != nil {
			return nil, http.StatusUnprocessableEntity, err
		}
	}
	if err == nil {
		err = form.Reply(ctx, c.opts.Store, id, action, content)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, http.StatusConflict, errors.New("this was answered already")
	case err == nil:
		err = c.desk.Noted(operator.Form(action, f))
	}
	if err != nil {
		return nil, http.StatusInternalServerError, err
	}
	return struct{}{}, http.StatusOK, nil
}
