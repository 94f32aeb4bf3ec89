/*
 * Declarations of FoundationDB's C API, as far as its Go binding calls it: enough for `go vet -tags fdb` on a machine
 * without the FoundationDB client. Programs are built against the client's own header, never against this one.
 */
#ifndef SETTEE_FDB_C_H
#define SETTEE_FDB_C_H

#include <stdint.h>
#include <stdlib.h>

typedef int fdb_error_t;
typedef int fdb_bool_t;

typedef struct FDB_future FDBFuture;
typedef struct FDB_database FDBDatabase;
typedef struct FDB_tenant FDBTenant;
typedef struct FDB_transaction FDBTransaction;

typedef void (*FDBCallback)(FDBFuture *future, void *parameter);

#pragma pack(push, 4)
typedef struct {
	const uint8_t *key;
	int key_length;
} FDBKey;

typedef struct {
	const uint8_t *key;
	int key_length;
	const uint8_t *value;
	int value_length;
} FDBKeyValue;
#pragma pack(pop)

/* The binding passes numbers of its own: only the types matter. */
typedef enum { SETTEE_FDB_NETWORK_OPTION } FDBNetworkOption;
typedef enum { SETTEE_FDB_DATABASE_OPTION } FDBDatabaseOption;
typedef enum { SETTEE_FDB_TRANSACTION_OPTION } FDBTransactionOption;
typedef enum { SETTEE_FDB_STREAMING_MODE } FDBStreamingMode;
typedef enum { SETTEE_FDB_MUTATION_TYPE } FDBMutationType;
typedef enum { SETTEE_FDB_CONFLICT_RANGE_TYPE } FDBConflictRangeType;

/* The client. */
fdb_error_t fdb_select_api_version_impl(int runtime_version, int header_version);
int fdb_get_max_api_version(void);
const char *fdb_get_error(fdb_error_t code);
fdb_error_t fdb_network_set_option(FDBNetworkOption option, const uint8_t *value, int value_length);
fdb_error_t fdb_setup_network(void);
fdb_error_t fdb_run_network(void);

/* Futures. */
void fdb_future_cancel(FDBFuture *f);
void fdb_future_destroy(FDBFuture *f);
void fdb_future_release_memory(FDBFuture *f);
fdb_bool_t fdb_future_is_ready(FDBFuture *f);
fdb_error_t fdb_future_set_callback(FDBFuture *f, FDBCallback callback, void *parameter);
fdb_error_t fdb_future_get_error(FDBFuture *f);
fdb_error_t fdb_future_get_int64(FDBFuture *f, int64_t *out);
fdb_error_t fdb_future_get_key(FDBFuture *f, const uint8_t **key, int *key_length);
fdb_error_t fdb_future_get_value(FDBFuture *f, fdb_bool_t *present, const uint8_t **value, int *value_length);
fdb_error_t fdb_future_get_keyvalue_array(FDBFuture *f, const FDBKeyValue **rows, int *count, fdb_bool_t *more);
fdb_error_t fdb_future_get_key_array(FDBFuture *f, const FDBKey **keys, int *count);
fdb_error_t fdb_future_get_string_array(FDBFuture *f, const char ***strings, int *count);

/* Databases and tenants. */
fdb_error_t fdb_create_database(const char *cluster_file, FDBDatabase **out);
fdb_error_t fdb_create_database_from_connection_string(const char *connection, FDBDatabase **out);
void fdb_database_destroy(FDBDatabase *d);
fdb_error_t fdb_database_set_option(FDBDatabase *d, FDBDatabaseOption option, const uint8_t *value, int value_length);
fdb_error_t fdb_database_create_transaction(FDBDatabase *d, FDBTransaction **out);
fdb_error_t fdb_database_open_tenant(FDBDatabase *d, const uint8_t *name, int name_length, FDBTenant **out);
FDBFuture *fdb_database_reboot_worker(FDBDatabase *d, const uint8_t *address, int address_length, fdb_bool_t check,
                                      int duration);
fdb_error_t fdb_tenant_create_transaction(FDBTenant *tenant, FDBTransaction **out);
void fdb_tenant_destroy(FDBTenant *tenant);

/* Transactions. */
void fdb_transaction_destroy(FDBTransaction *t);
void fdb_transaction_cancel(FDBTransaction *t);
void fdb_transaction_reset(FDBTransaction *t);
fdb_error_t fdb_transaction_set_option(FDBTransaction *t, FDBTransactionOption option, const uint8_t *value,
                                       int value_length);
void fdb_transaction_set_read_version(FDBTransaction *t, int64_t version);
FDBFuture *fdb_transaction_get_read_version(FDBTransaction *t);
FDBFuture *fdb_transaction_get(FDBTransaction *t, const uint8_t *key, int key_length, fdb_bool_t snapshot);
FDBFuture *fdb_transaction_get_key(FDBTransaction *t, const uint8_t *key, int key_length, fdb_bool_t or_equal, int offset,
                                   fdb_bool_t snapshot);
FDBFuture *fdb_transaction_get_range(FDBTransaction *t, const uint8_t *begin, int begin_length, fdb_bool_t begin_or_equal,
                                     int begin_offset, const uint8_t *end, int end_length, fdb_bool_t end_or_equal,
                                     int end_offset, int limit, int target_bytes, FDBStreamingMode mode, int iteration,
                                     fdb_bool_t snapshot, fdb_bool_t reverse);
FDBFuture *fdb_transaction_get_addresses_for_key(FDBTransaction *t, const uint8_t *key, int key_length);
FDBFuture *fdb_transaction_get_estimated_range_size_bytes(FDBTransaction *t, const uint8_t *begin, int begin_length,
                                                          const uint8_t *end, int end_length);
FDBFuture *fdb_transaction_get_range_split_points(FDBTransaction *t, const uint8_t *begin, int begin_length,
                                                  const uint8_t *end, int end_length, int64_t chunk_size);
FDBFuture *fdb_transaction_watch(FDBTransaction *t, const uint8_t *key, int key_length);
void fdb_transaction_set(FDBTransaction *t, const uint8_t *key, int key_length, const uint8_t *value, int value_length);
void fdb_transaction_clear(FDBTransaction *t, const uint8_t *key, int key_length);
void fdb_transaction_clear_range(FDBTransaction *t, const uint8_t *begin, int begin_length, const uint8_t *end,
                                 int end_length);
void fdb_transaction_atomic_op(FDBTransaction *t, const uint8_t *key, int key_length, const uint8_t *param,
                               int param_length, FDBMutationType operation);
fdb_error_t fdb_transaction_add_conflict_range(FDBTransaction *t, const uint8_t *begin, int begin_length,
                                               const uint8_t *end, int end_length, FDBConflictRangeType type);
FDBFuture *fdb_transaction_commit(FDBTransaction *t);
FDBFuture *fdb_transaction_on_error(FDBTransaction *t, fdb_error_t code);
fdb_error_t fdb_transaction_get_committed_version(FDBTransaction *t, int64_t *out);
FDBFuture *fdb_transaction_get_versionstamp(FDBTransaction *t);
FDBFuture *fdb_transaction_get_approximate_size(FDBTransaction *t);

#endif
