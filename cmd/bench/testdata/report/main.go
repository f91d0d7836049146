// Report totals the sales that it is given, as JSON records, by region, built with Sallyport's PDK for Go: a tool that
// decodes, groups, sorts and encodes.
package main

import (
	"cmp"
	"fmt"
	"slices"

	sallyport "github.com/sallyport-mcp/sallyport/pdk/go"
)

type sale struct {
	Region   string  `json:"region"`
	Product  string  `json:"product"`
	Quantity int     `json:"quantity"`
	Price    float64 `json:"price"`
	Note     *string `json:"note,omitempty"`
}

type args struct {
	Title string `json:"title"`
	Sales []sale `json:"sales"`
}

type region struct {
	Name     string         `json:"name"`
	Sales    int            `json:"sales"`
	Quantity int            `json:"quantity"`
	Revenue  float64        `json:"revenue"`
	Products map[string]int `json:"products"`
	Best     string         `json:"best"`
}

type report struct {
	Title   string   `json:"title"`
	Regions []region `json:"regions"`
	Total   float64  `json:"total"`
	Summary string   `json:"summary"`
	Notes   []string `json:"notes,omitempty"`
}

func total(_ *sallyport.Call, a args) (report, error) {
	r := report{Title: a.Title}
	byName := map[string]*region{}
	for _, s := range a.Sales {
		if s.Quantity < 0 {
			return r, fmt.Errorf("a sale of %d %s", s.Quantity, s.Product)
		}
		in := byName[s.Region]
		if in == nil {
			in = &region{Name: s.Region, Products: map[string]int{}}
			byName[s.Region] = in
		}
		in.Sales++
		in.Quantity += s.Quantity
		in.Revenue += s.Price * float64(s.Quantity)
		in.Products[s.Product] += s.Quantity
		r.Total += s.Price * float64(s.Quantity)
		if s.Note != nil {
			r.Notes = append(r.Notes, *s.Note)
		}
	}
	for _, in := range byName {
		for product, n := range in.Products {
			if best := in.Products[in.Best]; n > best || n == best && product < in.Best {
				in.Best = product
			}
		}
		r.Regions = append(r.Regions, *in)
	}
	slices.SortFunc(r.Regions, func(a, b region) int {
		return cmp.Or(cmp.Compare(b.Revenue, a.Revenue), cmp.Compare(a.Name, b.Name))
	})
	r.Summary = fmt.Sprintf("%d sales in %d regions, %.2f in all", len(a.Sales), len(r.Regions), r.Total)
	return r, nil
}

var plugin = sallyport.New("report", "1",
	sallyport.Tool("report", "totals sales by region", total,
		sallyport.WarmWith(args{Title: "t", Sales: []sale{{Region: "r", Product: "p", Quantity: 1, Price: 1.5}}})),
)

func init() { plugin.Serve() }

func main() {}
