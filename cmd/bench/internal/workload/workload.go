// Package workload is the work of the tools that every compared server offers: a report of sales, and a digest. Native
// servers import it, and the guests in Go are built with it.
package workload

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// EchoArgs are the arguments of the tool echo, which answers with the text.
type EchoArgs struct {
	Text string `json:"text"`
}

// Sale is one record of a report.
type Sale struct {
	Region   string  `json:"region"`
	Product  string  `json:"product"`
	Quantity int     `json:"quantity"`
	Price    float64 `json:"price"`
	Note     *string `json:"note,omitempty"`
}

// ReportArgs are the arguments of the tool report.
type ReportArgs struct {
	Title string `json:"title"`
	Sales []Sale `json:"sales"`
}

// Region is the total of one region.
type Region struct {
	Name     string         `json:"name"`
	Sales    int            `json:"sales"`
	Quantity int            `json:"quantity"`
	Revenue  float64        `json:"revenue"`
	Products map[string]int `json:"products"`
	Best     string         `json:"best"`
}

// Report is the result of the tool report.
type Report struct {
	Title   string   `json:"title"`
	Regions []Region `json:"regions"`
	Total   float64  `json:"total"`
	Summary string   `json:"summary"`
	Notes   []string `json:"notes,omitempty"`
}

// Total groups the sales by region, and sorts the regions by revenue.
func Total(a ReportArgs) (Report, error) {
	r := Report{Title: a.Title}
	byName := map[string]*Region{}
	for _, s := range a.Sales {
		if s.Quantity < 0 {
			return r, fmt.Errorf("a sale of %d %s", s.Quantity, s.Product)
		}
		in := byName[s.Region]
		if in == nil {
			in = &Region{Name: s.Region, Products: map[string]int{}}
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
		in.Best = best(in.Products)
		r.Regions = append(r.Regions, *in)
	}
	slices.SortFunc(r.Regions, func(a, b Region) int {
		return cmp.Or(cmp.Compare(b.Revenue, a.Revenue), cmp.Compare(a.Name, b.Name))
	})
	r.Summary = fmt.Sprintf("%d sales in %d regions, %.2f in all", len(a.Sales), len(r.Regions), r.Total)
	return r, nil
}

// best returns the product sold most, the first by name of equal ones.
func best(products map[string]int) (name string) {
	for product, n := range products {
		if most := products[name]; n > most || n == most && product < name {
			name = product
		}
	}
	return name
}

// Example returns n sales in four regions.
func Example(n int) ReportArgs {
	regions, products := []string{"north", "south", "east", "west"}, []string{"bolt", "nut", "screw"}
	a := ReportArgs{Title: "sales", Sales: make([]Sale, n)}
	for i := range a.Sales {
		s := Sale{Region: regions[i%4], Product: products[i%3], Quantity: i%9 + 1, Price: float64(i%5) + 0.25}
		if i%7 == 0 {
			note := fmt.Sprintf("note %d", i)
			s.Note = &note
		}
		a.Sales[i] = s
	}
	return a
}

// SHAArgs are the arguments of the tool sha.
type SHAArgs struct {
	Seed int `json:"seed"`
}

// Digest returns the SHA-256 of 64 KiB made from the seed, in hexadecimal digits.
func Digest(a SHAArgs) string {
	data := make([]byte, 64<<10)
	for i := range data {
		data[i] = byte(i*31 + a.Seed)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
