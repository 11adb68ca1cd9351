// What Java programs do with the JDBC driver; each line that it prints is compared by test_jdbc.py.

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

public class Jdbc {
    public static void main(String[] arguments) throws SQLException {
        try (Connection connection = DriverManager.getConnection(arguments[0], "me", "")) {
            DatabaseMetaData about = connection.getMetaData();
            System.out.println(about.getDatabaseProductName() + " " + connection.getCatalog() + " " + connection.getSchema());
            print("schemas", about.getSchemas(), "TABLE_SCHEM");
            print("tables", about.getTables(null, "public", "%", new String[] {"TABLE"}), "TABLE_NAME", "TABLE_TYPE", "REMARKS");
            print("columns", about.getColumns(null, null, "latest", "%"), "COLUMN_NAME", "TYPE_NAME", "NULLABLE");
            print("key", about.getPrimaryKeys(null, "public", "latest"), "COLUMN_NAME", "KEY_SEQ", "PK_NAME");
            print("indexes", about.getIndexInfo(null, "public", "latest", false, false), "INDEX_NAME", "COLUMN_NAME");
            print("imported", about.getImportedKeys(null, "public", "latest"), "FKTABLE_NAME");
            try (Statement statement = connection.createStatement()) {
                ResultSet row = statement.executeQuery("SELECT * FROM everything LIMIT 2");
                row.next();
                List<String> values = new ArrayList<>();
                for (String name : List.of("flag", "small", "big", "ratio", "price", "day", "prices", "days")) {
                    values.add(String.valueOf(row.getObject(name)));
                }
                System.out.println("row: " + String.join(" | ", values) + " | " + row.getTimestamp("taken").toInstant());
            }
            try (PreparedStatement statement = connection.prepareStatement("SELECT * FROM orders WHERE id = ? AND name = ? LIMIT ?")) {
                ResultSetMetaData columns = statement.getMetaData();
                System.out.println("described: " + columns.getColumnName(1) + " " + columns.getColumnTypeName(1));
                for (int times = 0; times < 7; times++) {
                    statement.setInt(1, times);
                    statement.setString(2, "it's");
                    statement.setInt(3, 3);
                    try (ResultSet rows = statement.executeQuery()) {
                        rows.next();
                        System.out.println("executed: " + rows.getInt(1) + " " + rows.getString("name"));
                    }
                }
            }
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.setFetchSize(1);
                ResultSet live = statement.executeQuery("SELECT * FROM orders EMIT CHANGES");
                live.next();
                System.out.println("live: " + live.getInt("id"));
                live.close();
                statement.executeQuery("SELECT * FROM nowhere");
            } catch (SQLException error) {
                System.out.println("error: " + error.getSQLState());
            }
            connection.rollback();
        }
    }

    private static void print(String title, ResultSet rows, String... columns) throws SQLException {
        while (rows.next()) {
            List<String> values = new ArrayList<>();
            for (String column : columns) {
                values.add(rows.getString(column));
            }
            System.out.println(title + ": " + String.join(" | ", values));
        }
    }
}
