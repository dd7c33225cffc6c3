// SPDX-License-Identifier: Apache-2.0
//
// As much of XML as the error documents of S3 need: the elements right below the one at the top
// that hold nothing but text. No entities but the five of XML and numeric ones, no declarations of
// types (a document with one is refused), nothing outside the document is ever looked at. Pure.
#ifndef SDSFS_REMOTE_XML_H
#define SDSFS_REMOTE_XML_H

#include <stdbool.h>

#include "base/bytes.h"

// Copies the text of the first child of that name of the document's top element into out, which is
// "" where there is none, or where it does not fit. Documents that end early are read as far as
// they go: false only when there is no such text.
bool sds_xml_child(struct sds_span document, const char *top, const char *name, char *out,
                   size_t size);

#endif
