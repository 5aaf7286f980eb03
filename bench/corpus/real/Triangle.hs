-- Pascal's triangle modulo numbers, number by number without a buffer; told `large`, with one: the remedy.
import System.Environment (getArgs)
import System.IO

main :: IO ()
main = do
  arguments <- getArgs
  let count = read (last arguments) :: Int
  hSetBuffering stdout (if head arguments == "large" then BlockBuffering (Just 65536) else NoBuffering)
  mapM_ line (take (count `div` 13) (iterate next [1]))
 where
  next row = take 12 (zipWith (\a b -> (a + b) `mod` 100003) (0 : row) (row ++ [0]))
  line row = mapM_ (\number -> putStr (show (number :: Int) ++ " ")) row >> putStr "\n"
