// Package image gives a guest a linear memory that begins as a copy of an image, and can be made that copy
// again in microseconds:
//
//	image ── Memory ──▶ memory ── the guest writes ──▶ Restore ──▶ memory, as at first
//
// There are three ways, which differ in time and in nothing else:
//
//   - [Scan]: the memory is a private mapping of the image, over a reservation of all that it may grow to. The
//     kernel makes a copy of a page when the guest writes to it. Restore asks the kernel which pages
//     those are (PAGEMAP_SCAN, Linux 6.7 or newer) and copies the image over them. The pages stay: to fault
//     them in again would cost far more than copying. And as long as this process had no page fault
//     they are still the same ones, and the kernel, which has to look at every page, is not asked.
//   - [Map]: the same mapping. Restore gives the copies back to the kernel, and the image shows through.
//   - [Copy]: an ordinary slice. Restore copies the whole image. It works everywhere.
//
// A memory whose image is empty is a memory of zeros.
package image
