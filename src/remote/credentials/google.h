// SPDX-License-Identifier: Apache-2.0
//
// Where Google's tools find a token: one function a source, and the kinds of files that
// application default credentials may be. For this directory and its tests only; threads as
// finding.h has it.
#ifndef SDSFS_REMOTE_CREDENTIALS_GOOGLE_H
#define SDSFS_REMOTE_CREDENTIALS_GOOGLE_H

#include "base/json.h"
#include "remote/credentials/finding.h"

// What a token is to allow: reading and writing objects.
#define SDS_GOOGLE_SCOPE "https://www.googleapis.com/auth/devstorage.read_write"

// --- sources in the order in which they are asked

enum sds_kind sds_google_environment(const struct sds_finding *finding, struct sds_found *found,
                                     struct sds_err *err);
enum sds_kind sds_google_file(const struct sds_finding *finding, struct sds_found *found,
                              struct sds_err *err);
enum sds_kind sds_google_metadata(const struct sds_finding *finding, struct sds_found *found,
                                  struct sds_err *err);

// --- kinds of files: the token that one of them gets

typedef enum sds_kind (*sds_google_exchange)(const struct sds_finding *finding,
                                             struct sds_value file, struct sds_credential *out,
                                             struct sds_err *err);
enum sds_kind sds_google_service_account(const struct sds_finding *finding, struct sds_value file,
                                         struct sds_credential *out, struct sds_err *err);
enum sds_kind sds_google_user(const struct sds_finding *finding, struct sds_value file,
                              struct sds_credential *out, struct sds_err *err);
enum sds_kind sds_google_external(const struct sds_finding *finding, struct sds_value file,
                                  struct sds_credential *out, struct sds_err *err);

// Posts a form to a token endpoint and reads the token. authorization may be NULL.
SDS_MUST_CHECK enum sds_kind sds_google_post(const struct sds_finding *finding, const char *url,
                                             struct sds_span form, const char *authorization,
                                             struct sds_credential *out, struct sds_err *err);

#endif
